/** Closes the last opened first. */
export async function closeAll(closers: (() => Promise<unknown> | void)[]): Promise<void> {
  const failures: unknown[] = [];
  // One failure must not keep the others from being closed.
  for (const end of closers.splice(0).reverse()) {
    try {
      await end();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, 'not everything could be closed');
}
