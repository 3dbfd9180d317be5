import { cut } from './message-layout.ts';

/** Cuts a text until its size, as measured by `sizeOf`, is at most `max`. */
export function cutToSize(text: string, max: number, sizeOf: (text: string) => number): string {
  const size = sizeOf(text);
  return size <= max ? text : cutToSize(cut(text, Math.floor((text.length * max) / size) - 1), max, sizeOf);
}

/** Returns as many whole parts from the beginning as fit. */
export function wholeParts<T>(parts: readonly T[], max: number, sizeOf: (part: T) => number): readonly T[] {
  let size = 0;
  return parts.filter((part) => {
    size += sizeOf(part);
    return size <= max;
  });
}
