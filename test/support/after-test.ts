type Close = () => Promise<void>;

/** Resources of a test: test/support/setup.ts closes them after the test. */
const closers: Close[] = [];
/** Resources that the tests of a file share: closed by the file after its last test. */
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

/** Closes a simulated exchange after the test, which fails if the exchange had internal errors. */
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

/** Closes all, the newest first. @throws the errors of those that could not be closed */
async function closeAll(open: Close[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of open.splice(0).reverse()) await close().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw new AggregateError(errors, 'errors while closing');
}
