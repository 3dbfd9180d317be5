import { z } from 'zod';
import type { OutputOf } from '../core/schema/parts.ts';

export const doctorReportSchema = z.strictObject({
  file: z.string().describe('The config.'),
  ok: z.boolean().describe('Nothing failed.'),
  checks: z.array(
    z.strictObject({
      name: z.string().describe('Stable, for scripts: `redis.eviction`.'),
      status: z
        .enum(['passed', 'warning', 'failed', 'skipped', 'note'])
        .describe('`note`: a person has to check it, as no program can.'),
      about: z.string().exactOptional().describe('Its account, address or other subject.'),
      why: z.string(),
      cure: z.string().exactOptional(),
    }),
  ),
});
export type DoctorReport = OutputOf<typeof doctorReportSchema>;
export type DoctorCheck = DoctorReport['checks'][number];
