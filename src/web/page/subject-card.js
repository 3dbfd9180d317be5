import { bar } from './bar.js';
import { levelChip } from './chips.js';
import { levelOfSubject } from './danger.js';
import { heading, textLines } from './layout.js';
import { doings, notableRules } from './lines.js';
import { html, nothing } from './lit-html/lit-html.js';
import { subjectPath } from './route.js';
import { creditScale, distanceWords, positionScale } from './scale.js';
import {
  creditFigures,
  creditFigureWords,
  creditTitle,
  cureWords,
  positionFigures,
  positionTitle,
  stateWords,
} from './subject-words.js';

/** A position or a credit line in a list: bar, figures, rules, what is being done. */

/** @import { AccountView } from '../../core/view/account-view.ts' */
/** @import { FigureLine } from './subject-words.js' */

/** What differs between the two kinds. @param {AccountView} account @param {string} subject */
function contentOf(account, subject) {
  const position = account.positions.find((line) => line.subject === subject);
  if (position !== undefined) {
    const figure = distanceWords(position);
    return {
      title: positionTitle(position),
      figure,
      scale: positionScale(position),
      figures: positionFigures(position),
      state: stateWords(position),
      cures: [],
      intents: account.intents.filter(({ positionId }) => positionId === position.positionId),
      orders: account.orders.filter(({ positionId }) => positionId === position.positionId),
    };
  }
  const line = account.creditLines.find((found) => found.subject === subject);
  if (line === undefined) return undefined;
  return {
    title: creditTitle(line),
    figure: creditFigureWords(line),
    scale: creditScale(line),
    figures: creditFigures(line),
    state: '',
    cures: cureWords(line),
    intents: [],
    orders: [],
  };
}

/** `now`: on its own page, which has its name already. @typedef {'now' | 'h3' | 'h4'} SubjectHeading */

/** Its own page also shows what is over. @param {AccountView} account @param {string} subject @param {SubjectHeading} level */
export function subjectCard(account, subject, level) {
  const content = contentOf(account, subject);
  if (content === undefined) return nothing;
  const danger = levelOfSubject(account, subject);
  const link = html`<a class="title-link" href=${subjectPath(account.accountId, subject)}>${content.title}</a>`;
  const rules = account.rules.filter((rule) => rule.subject === subject);
  const cures = danger === 'ok' ? [] : content.cures;
  return html`<section class="subject" data-level=${danger}>
    <div class="subject-head">${levelChip(danger)}
      ${level === 'now' ? html`<h2>Now</h2>` : heading(level, link)}
      ${content.state === '' ? nothing : html`<span class="chip" data-look="alarm">${content.state}</span>`}
      <span class="headline">${content.figure}</span></div>
    ${bar(content.scale, content.figure)}<dl class="figures">${content.figures.map(figure)}</dl>
    ${cures.length === 0 ? nothing : textLines(cures, 'cures')}
    ${notableRules(rules)}${doings(content.intents, content.orders, { ended: level === 'now' })}
  </section>`;
}

/** @param {FigureLine} line */
function figure({ label, text, title, tone, minor }) {
  return html`<div class="figure" data-tone=${tone ?? nothing} ?data-minor=${minor === true}
    ><dt>${label}</dt><dd title=${title ?? nothing}>${text}</dd></div>`;
}
