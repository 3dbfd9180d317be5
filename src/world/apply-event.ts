import { isAnswerable, latestOf, partsOf } from '../core/approvals/question.ts';
import type { OperatorControls } from '../core/ports/operator-controls.ts';
import type { StateStore } from '../core/ports/state-store.ts';
import { decimal } from '../core/quantities/decimal.ts';
import { setCondition } from '../simulator/control/condition-routes.ts';
import type { SimulatedExchange } from '../simulator/simulated-exchange.ts';
import type { People } from './people.ts';
import type { WorldEvent } from './spec.ts';
import type { StoreState } from './store-link.ts';
import type { WorldDaemon } from './world-daemon.ts';

/** The parts of a world that events act on. */
export interface Stage {
  readonly exchange: SimulatedExchange;
  readonly operators: OperatorControls;
  readonly store: StateStore;
  readonly people: People;
  readonly storeState: StoreState;
  readonly stepStoreClock: (byMs: number) => void;
  readonly daemon: (name: string) => WorldDaemon;
  readonly nowMs: () => number;
}

const OPERATOR = { author: 'operator', reason: 'an event of the world' };
/** Length of a pause without `forMs`. */
const LONGEST_PAUSE_MS = 365 * 86_400_000;
const ORDER_LIFE_MS = 600_000;

/** Applies an event now. Resolves when its changes to the shared store are done. */
export async function applyEvent(stage: Stage, event: WorldEvent): Promise<void> {
  switch (event.kind) {
    case 'suspend':
    case 'resume':
    case 'kill':
    case 'start':
      return stage.daemon(event.daemon)[event.kind]();
    case 'stop':
      return await stage.daemon(event.daemon).stop();
    case 'stepClock':
      return stage.daemon(event.daemon).stepClock(event.byMs);
    case 'reload':
      return stage.daemon(event.daemon).reload(event.config);
    case 'store':
      stage.storeState.isDown = event.state === 'down';
      return;
    case 'link':
      return stage.daemon(event.daemon).setLink(event.to, event.state);
    case 'stepStoreClock':
      return stage.stepStoreClock(event.byMs);
    case 'people':
      stage.people.isReachable = event.state === 'reachable';
      return;
    case 'answer':
      return await answerAll(stage, event);
    case 'region':
      return stage.exchange.front.setRegion(event.index, event.state);
    case 'setPrice':
      return stage.exchange.setPrice(event.market, decimal(event.price));
    case 'condition':
      // If the exchange refuses it, its ledger says so.
      setCondition(stage.exchange, event.condition, 'condition');
      return;
    case 'trade':
    case 'cancelAll':
    case 'move':
    case 'leverage':
    case 'repay':
      return applyByOwner(stage.exchange, event);
    case 'pause':
    case 'unpause':
    case 'silence':
    case 'reduce':
      return await applyByOperator(stage, event);
  }
}

type OwnersEvent = Extract<WorldEvent, { kind: 'trade' | 'cancelAll' | 'move' | 'leverage' | 'repay' }>;

/** If the exchange refuses, nothing happens, as for any owner. */
function applyByOwner(exchange: SimulatedExchange, event: OwnersEvent): void {
  exchange.change((model) => {
    const { account } = event;
    if (event.kind === 'leverage') return model.setLeverage(account, event.leverage);
    if (event.kind === 'cancelAll') {
      model.cancelAll(account, event.market === undefined ? {} : { market: event.market });
      return;
    }
    if (event.kind !== 'trade') {
      const moved = decimal(event.amount);
      const [line] = model.creditLines(account);
      if (event.kind === 'move') model.moveFunds(account, { ...event, amount: moved });
      else if (line !== undefined) model.repayLoan(account, line.loanId, moved);
      return;
    }
    const { side, amount, price, positionSide, reduceOnly } = event;
    model.placeCollateralOrder(account, {
      market: event.market,
      side,
      amount: decimal(amount),
      ...(price === undefined ? {} : { price: decimal(price) }),
      ...(positionSide === undefined ? {} : { positionSide }),
      ...(reduceOnly === undefined ? {} : { reduceOnly }),
    });
  });
}

/** Answers every open question of an account, in its latest revision. */
async function answerAll(
  { store, operators }: Stage,
  { account, decision, rule, by = OPERATOR.author }: Extract<WorldEvent, { kind: 'answer' }>,
): Promise<void> {
  const { load } = await store.read(account);
  const questions = load.kind === 'loaded' ? (load.account.documents.approvals?.questions ?? []) : [];
  for (const question of questions) {
    const revision = latestOf(question)?.revision;
    if (revision === undefined || !isAnswerable(question)) continue;
    if (rule !== undefined && partsOf(question).ruleId !== rule) continue;
    const { id: questionId } = question;
    await operators.answer(account, { decision, questionId, revision, ...OPERATOR, author: by });
  }
}

async function applyByOperator(
  { operators, nowMs }: Stage,
  event: Extract<WorldEvent, { kind: 'pause' | 'unpause' | 'silence' | 'reduce' }>,
): Promise<void> {
  switch (event.kind) {
    case 'pause': {
      const { account: accountId, forMs = LONGEST_PAUSE_MS } = event;
      await operators.put({ kind: 'pause', accountId, expiresAtMs: nowMs() + forMs, ...OPERATOR });
      return;
    }
    case 'unpause':
      await operators.lift({ kind: 'pause', accountId: event.account }, OPERATOR);
      return;
    case 'silence': {
      const { account: accountId, rule: ruleId, forMs } = event;
      const expiresAtMs = nowMs() + forMs;
      await operators.put({ kind: 'silence', accountId, ruleId, subject: null, expiresAtMs, ...OPERATOR });
      return;
    }
    case 'reduce': {
      const { account, markets, target, slippage, flatten = false, urgent } = event;
      const expiresAtMs = nowMs() + ORDER_LIFE_MS;
      const order = { kind: 'reduce' as const, markets, target, slippageSteps: [slippage], flatten };
      const said = { ...order, ...(urgent === true ? { urgent } : {}), expiresAtMs, ...OPERATOR };
      await operators.submit(account, said);
    }
  }
}
