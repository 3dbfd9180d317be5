import { afterEach, expect, test } from 'vitest';
import { openTunePool, type TunePool } from './tune-pool.ts';

const pools: TunePool[] = [];

function openPool(): TunePool {
  const pool = openTunePool({ cases: [], base: { file: 'breakwater.yaml', text: '' } }, 1);
  pools.push(pool);
  return pool;
}

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

test('callers that waited for a thread waited for ever, or got one that had ended, when the search was closed', async () => {
  const pool = openPool();
  const asked = Promise.allSettled([pool.bare(0), pool.bare(1), pool.bare(2)]);
  await pool.close();
  const closed = { status: 'rejected', reason: expect.objectContaining({ code: 'search-closed' }) };
  expect(await asked).toEqual([closed, closed, closed]);
  await expect(pool.bare(3)).rejects.toMatchObject({ code: 'search-closed' });
});

test('asking for a case that does not exist ended the thread', async () => {
  const pool = openPool();
  await expect(pool.bare(0)).rejects.toThrow('there is no case 0');
  await expect(pool.bare(1)).rejects.toThrow('there is no case 1');
});
