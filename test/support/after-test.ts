type Close = () => Promise<void>;

/** What a test opened: test/support/setup.ts closes it after the test. */
const closers: Close[] = [];
/** What the tests of a file share: it closes that after the last of them. */
const closersOfFile: Close[] = [];

export function closeAfterTest(close: Close): void {
  closers.push(close);
}

export function closeAfterFile(close: Close): void {
  closersOfFile.push(close);
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

export async function closeWhatIsOpen(): Promise<void> {
  await closeAll(closers);
}

export async function closeWhatIsShared(): Promise<void> {
  await closeAll(closersOfFile);
}

/** The newest first, and all of them: throws the errors of those that could not be closed. */
async function closeAll(open: Close[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of open.splice(0).reverse()) await close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, 'errors while closing');
}
