import type { Path, Place } from '../problem.ts';

/** A value of the file with the places where it stands. */
export interface YamlNode {
  readonly value: unknown;
  readonly place: Place;
  /** Where the key of this value stands, when it has one. */
  readonly keyPlace?: Place;
  readonly children: ReadonlyMap<string | number, YamlNode>;
  /** Part of it could not be read as YAML (reported). That part may be what seems to be missing here. */
  readonly incomplete?: true;
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

/** The node with other children; every place stays. */
export function withChildren(node: YamlNode, children: YamlNode['children']): YamlNode {
  const value: unknown[] | Record<string | number, unknown> = Array.isArray(node.value)
    ? []
    : (Object.create(null) as Record<string | number, unknown>);
  for (const [key, child] of children) (value as Record<string | number, unknown>)[key] = child.value;
  return { ...node, value, children };
}

/** The document with the node at a path changed; nothing changes when there is none. */
export function changeAt(
  document: YamlDocument,
  path: Path,
  change: (node: YamlNode) => YamlNode,
): YamlDocument {
  const inside = (node: YamlNode, [key, ...rest]: Path): YamlNode => {
    if (key === undefined) return change(node);
    const child = node.children.get(key);
    const changed = child && inside(child, rest);
    // A copy for every rule of a list, changed or not, would make reading quadratic.
    return changed === undefined || changed === child
      ? node
      : withChildren(node, new Map(node.children).set(key, changed));
  };
  return { ...document, root: inside(document.root, path) };
}

export function isMapping({ value }: YamlNode): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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
