import { expect, test } from 'vitest';
import { boundsIn } from '../../../src/core/orders/rejection.ts';

test.each([
  ['Price should be less than or equal to 1.277', 'most 1.277'],
  ['less than or equal to 1.277', 'most 1.277'],
  ['Price must be greater than or equal to 0.98', 'least 0.98'],
  ['Total is less than 5.05', 'least 5.05'],
  ['Total(amount * price) is less than 5.05', 'least 5.05'],
  ['Total exceeds 1000000', 'most 1000000'],
  ['Given amount is less than min amount 0.0001', 'least 0.0001'],
  ['Amount 0.5 is more than max amount 0.4', 'most 0.4'],
  ['Min amount step = 0.01', 'step 0.01'],
  ['Min price step = 0.000001', 'step 0.000001'],
  ['Should be a multiple of 100000.', 'step 100000'],
  ['Price field should be at least 10', 'least 10'],
  ['Price must not be less than 5', 'least 5'],
  ['Price must not exceed 5', 'most 5'],
  ['should be between 1.2 and 1.277', 'least 1.2, most 1.277'],
  ['should be less than or equal to 1.277 and greater than or equal to 1.2', 'most 1.277, least 1.2'],
  ['price is too low', ''],
  [`less than ${'9'.repeat(99)}`, ''],
])('"%s" names %s', (message, bounds) => {
  const named = boundsIn({ message }).map(({ kind, value }) => `${kind} ${value.toFixed()}`);
  expect(named.join(', ')).toBe(bounds);
});
