import { setFlagsFromString } from 'node:v8';

/**
 * From now on every function has machine code from its first call on, by V8's baseline compiler, instead of being
 * interpreted until it has been called often. What acts is code that may not have run for months when it is needed,
 * or never since the start: interpreted, the first orders after a breach leave a fifth later. A V8 that does not know
 * the flag says so on standard error and goes on as before.
 */
export function compileOnFirstCall(): void {
  setFlagsFromString('--always-sparkplug');
}
