import type { Path, Place } from '../problem.ts';

/** A value of the file with the places where it stands. */
export interface YamlNode {
  readonly value: unknown;
  readonly place: Place;
  /** Where the key of this value stands, when it has one. */
  readonly keyPlace?: Place;
  readonly children: ReadonlyMap<string | number, YamlNode>;
}

export interface YamlDocument {
  readonly file: string;
  readonly root: YamlNode;
}

/** The node at a path, or `undefined` when the file has nothing there. */
export function nodeAt(root: YamlNode, path: Path): YamlNode | undefined {
  let node: YamlNode | undefined = root;
  for (const part of path) {
    node = node?.children.get(part);
    if (node === undefined) return undefined;
  }
  return node;
}

/**
 * Where to point for a path: at its value or its key; when it is missing, at the key (or start) of the
 * nearest thing around it that exists.
 */
export function placeOf(root: YamlNode, path: Path, at: 'value' | 'key' = 'value'): Place {
  let node = root;
  for (const part of path) {
    const next = node.children.get(part);
    if (next === undefined) return node.keyPlace ?? node.place;
    node = next;
  }
  return at === 'key' ? (node.keyPlace ?? node.place) : node.place;
}
