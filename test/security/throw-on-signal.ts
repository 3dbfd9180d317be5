/** Loaded before the program: it then fails where nobody awaits, with a message that quotes a secret. */
process.on('SIGUSR2', () => {
  setImmediate(() => {
    throw new Error(`refused: ${process.env['PLANTED_IN_ERRORS'] ?? ''}`);
  });
});
