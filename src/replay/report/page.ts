import { type Html, markup } from './html.ts';

/** The report's style sheet; same colours as the status page. On paper it is always light. */
const STYLE = `
:root { color-scheme: light dark;
  --ground: light-dark(#ffffff, #0c1116); --surface: light-dark(#f5f7f9, #151b22); --line: light-dark(#d3dae1, #2c3742);
  --text: light-dark(#14202b, #e8eef4); --muted: light-dark(#4b5a68, #a3b1be); --own: light-dark(#075f8a, #6cc1ea);
  --good: light-dark(#17693f, #5dcf97); --warning: light-dark(#875100, #f2b340); --critical: light-dark(#b3201a, #ff8078);
  --other-1: light-dark(#7a3e9d, #c99be6); --other-2: light-dark(#17693f, #5dcf97); --other-3: light-dark(#875100, #f2b340);
  --good-ground: light-dark(#e7f4ec, #12291d); --warning-ground: light-dark(#fdf3df, #2b2413);
  --critical-ground: light-dark(#fdeae8, #34191a); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; }
a { color: inherit; text-decoration-color: var(--muted); text-underline-offset: 2px; }
p { margin: .25rem 0; max-width: 60rem; } .facts, .hint, .reason, footer { color: var(--muted); }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .75rem; font-size: .85rem; }
p.warning { background: var(--warning-ground); color: var(--warning); padding: .5rem .75rem; border-left: 4px solid; }
.verdicts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: .75rem; margin-top: 1rem; }
.card { background: var(--surface); border: 1px solid var(--line); border-left: 5px solid var(--muted); border-radius: 6px; padding: .75rem 1rem; }
.card h2 { margin: 0; font-size: 1rem; } .card .title { font-weight: 600; }
.card.good { border-left-color: var(--good); background: var(--good-ground); } .card.good .title { color: var(--good); }
.card.warning { border-left-color: var(--warning); background: var(--warning-ground); } .card.warning .title { color: var(--warning); }
.card.critical { border-left-color: var(--critical); background: var(--critical-ground); } .card.critical .title { color: var(--critical); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } th, td { text-align: left; padding: .3rem .6rem; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { color: var(--muted); font-weight: 600; } .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td:first-child, .fate { white-space: nowrap; } tbody th { background: var(--surface); } strong.critical { color: var(--critical); }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; margin: .25rem 0; padding: 0; font-size: .85rem; color: var(--muted); }
.legend svg { vertical-align: middle; }
figure { margin: 1rem 0; overflow-x: auto; } figcaption { font-weight: 600; margin-bottom: .25rem; }
svg.picture { width: 100%; min-width: 40rem; height: auto; display: block; }
.ground { fill: var(--surface); } .grid { stroke: var(--line); stroke-width: 1; }
.tick { fill: var(--muted); font-size: 11px; font-variant-numeric: tabular-nums; }
.panel-title { fill: var(--text); font-size: 12px; font-weight: 600; } .label { fill: var(--muted); font-size: 11px; }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; stroke: var(--muted); }
.line.price { stroke: var(--text); stroke-width: 1.2; } .line.own { stroke: var(--own); stroke-width: 2; }
.line.none { stroke: var(--muted); stroke-dasharray: 5 4; }
.line.threshold { stroke: var(--warning); stroke-width: 1; stroke-dasharray: 1 3; } .label.threshold { fill: var(--warning); }
.line.barrier { stroke: var(--critical); stroke-width: 1.2; } .line.barrier.none { stroke-dasharray: 2 4; }
.line.other-1 { stroke: var(--other-1); stroke-dasharray: 9 3; } .line.other-2 { stroke: var(--other-2); stroke-dasharray: 9 3 2 3; }
.line.other-3 { stroke: var(--other-3); stroke-dasharray: 2 2; }
.label.own { fill: var(--own); font-weight: 600; } .label.barrier { fill: var(--critical); }
.label.other-1 { fill: var(--other-1); } .label.other-2 { fill: var(--other-2); } .label.other-3 { fill: var(--other-3); }
.mark { stroke-width: 1.5; stroke: var(--text); fill: none; } .mark.hollow { fill: var(--ground); } .mark.filled { fill: var(--text); stroke: var(--ground); stroke-width: 1; }
.mark.good { stroke: var(--good); } .mark.good.filled { fill: var(--good); stroke: var(--ground); }
.mark.warning { stroke: var(--warning); stroke-width: 2; } .mark.critical { stroke: var(--critical); stroke-width: 2.2; }
.mark.critical.filled { fill: var(--critical); stroke: var(--ground); stroke-width: 1; }
.halo { fill: var(--own); fill-opacity: 0; stroke: none; } a:hover .halo { fill-opacity: .15; }
.spot:target .halo { fill-opacity: .3; stroke: var(--own); stroke-width: 2; } .spot { scroll-margin: 12rem; }
tr { scroll-margin: 8rem; } tr:target td { background: var(--warning-ground); }
.band { rx: 2px; } .band.pending { fill: var(--warning); fill-opacity: .45; } .band.firing { fill: var(--critical); }
.band.frozen { fill: none; stroke: var(--muted); stroke-width: 1.5; stroke-dasharray: 3 2; }
.kind { font-size: .8rem; padding: 0 .4rem; border: 1px solid var(--line); border-radius: 3px; white-space: nowrap; }
.kind.liquidation, .kind.refusal { color: var(--critical); border-color: currentColor; } .kind.fill { color: var(--good); border-color: currentColor; }
.kind.margin-call, .kind.rule { color: var(--warning); border-color: currentColor; }
@media print { :root { color-scheme: light; } body { max-width: none; padding: 0; font-size: 10pt; }
  figure, .card, tr { break-inside: avoid; } svg.picture { min-width: 0; } h2, h3 { break-after: avoid; } .account { break-before: page; } .hint { display: none; } }
`;

type Page = Readonly<{ title: string } & Record<'header' | 'main' | 'footer', Html>>;

/** A self-contained page. Its Content-Security-Policy forbids all loading and scripts, and all text is escaped. */
export function renderPage({ title, header, main, footer }: Page): string {
  const page = markup`<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
<header>${header}</header>
<main>
${main}
</main>
<footer>${footer}</footer>
</body>
</html>`;
  return `<!doctype html>\n${page.html}\n`;
}
