import fc from 'fast-check';

/** The same inputs for the properties with and without a mutant. */
fc.configureGlobal({ seed: 20_261_126 });
