import { parseAst } from 'rolldown/parseAst';

/** A node of a syntax tree, with its place in the text. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Calls back for every node of a program in TypeScript or JavaScript, with the node around it; outer ones first. */
export function visit(text: string, see: (node: Node, around: Node | undefined) => void): void {
  const walk = (node: Node, around: Node | undefined): void => {
    see(node, around);
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
        if (isNode(child)) walk(child, node);
    }
  };
  walk(parseAst(text, { lang: 'ts' }) as unknown as Node, undefined);
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
