import { AccountWide } from './account-wide.ts';
import { People } from './people.ts';
import { Reads } from './reads.ts';
import { Rules } from './rules.ts';
import { Sender } from './sender.ts';
import type { Setup } from './setup.ts';
import { count, type Stats } from './tally.ts';
import { World } from './world.ts';

/** One account and market, its exchange, two actors, and all the checks. */
export class History {
  readonly world: World;
  readonly rules: Rules;
  readonly reads: Reads;
  readonly sender: Sender;
  readonly accountWide: AccountWide;
  readonly people: People;
  readonly #stats: Stats;
  readonly #marks = new Set<string>();

  constructor(setup: Setup, stats: Stats) {
    this.#stats = stats;
    this.world = new World(setup, (what) => this.#marks.add(what));
    this.rules = new Rules(setup.settings.mode);
    this.reads = new Reads(this.world, this.rules);
    this.sender = new Sender(this.world, this.reads);
    this.accountWide = new AccountWide(this.world, this.rules);
    this.people = new People(this.world);
  }

  /** Counts what the history exercised; called when it has ended well. */
  close(): void {
    for (const what of this.#marks) count(this.#stats, what);
    count(this.#stats, 'histories');
  }

  describe(): string {
    const { actor, setup, watch } = this.world;
    const last = watch.events
      .slice(-40)
      .map((event) => `${event.atMs} ${event.kind} ${event.reason} ${event.words}`);
    return `${last.join('\n')}\n${JSON.stringify(actor.state)}\n${JSON.stringify(setup)}`;
  }
}
