import type { Path, Place } from '../problem.ts';

export interface YamlNode {
  readonly value: unknown;
  readonly place: Place;
  /** Place of its key, if it has one. */
  readonly keyPlace?: Place;
  readonly children: ReadonlyMap<string | number, YamlNode>;
  /** Part of it could not be read as YAML, which was reported. A key that seems to be missing may be in that part. */
  readonly incomplete?: true;
}

export interface YamlDocument {
  readonly file: string;
  readonly root: YamlNode;
}

/** Returns the node at a path; undefined if the file has nothing there. */
export function nodeAt(root: YamlNode, path: Path): YamlNode | undefined {
  let node: YamlNode | undefined = root;
  for (const part of path) {
    node = node?.children.get(part);
    if (node === undefined) return undefined;
  }
  return node;
}

/** Returns the node with other children; places stay the same. */
export function withChildren(node: YamlNode, children: YamlNode['children']): YamlNode {
  const value: unknown[] | Record<string | number, unknown> = Array.isArray(node.value)
    ? []
    : (Object.create(null) as Record<string | number, unknown>);
  for (const [key, child] of children) (value as Record<string | number, unknown>)[key] = child.value;
  return { ...node, value, children };
}

/** Returns the document with the node at a path changed, or the same document if there is no such node. */
export function changeAt(
  document: YamlDocument,
  path: Path,
  change: (node: YamlNode) => YamlNode,
): YamlDocument {
  const inside = (node: YamlNode, [key, ...rest]: Path): YamlNode => {
    if (key === undefined) return change(node);
    const child = node.children.get(key);
    const changed = child && inside(child, rest);
    // Do not copy unchanged nodes: a copy for every rule of a list would make reading quadratic.
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
 * Returns the place of a path's value or key. If the path does not exist, it is the key (or start) of the nearest
 * existing node around it.
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
