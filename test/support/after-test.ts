/** What a test opened: test/support/setup.ts closes it after the test. */
const closers: (() => Promise<void>)[] = [];

export function closeAfterTest(close: () => Promise<void>): void {
  closers.push(close);
}

interface Exchange {
  readonly internalErrors: readonly unknown[];
  readonly close: () => Promise<void>;
}

/** A simulated exchange; the test fails where it had internal errors. */
export function closeExchangeAfterTest(exchange: Exchange): void {
  closeAfterTest(async () => {
    await exchange.close();
    const { internalErrors } = exchange;
    if (internalErrors.length > 0)
      throw new AggregateError(internalErrors, 'the exchange had internal errors');
  });
}

/** The newest first, and all of them: throws the errors of those that could not be closed. */
export async function closeWhatIsOpen(): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers.splice(0).reverse())
    await close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, 'errors while closing');
}
