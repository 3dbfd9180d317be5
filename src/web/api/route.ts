import { z } from 'zod';
import type { Immutable } from '../../core/schema/parts.ts';
import type { Asker, Scope } from '../access.ts';
import type { ActionFeed } from '../events/action-feed.ts';
import type { OverviewSource } from '../overview.ts';
import type { WebSources } from '../sources.ts';

export interface ApiContext extends WebSources {
  readonly overview: OverviewSource;
  readonly actions: ActionFeed;
}

/** One operation. The server, its client, openapi.json and the tests are all derived from it. */
export interface ApiRoute<P = unknown, Q = unknown, B = unknown, R = unknown> {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Parameters are written as `:name`. */
  readonly path: string;
  /** Default: `read` for GET, else `control`. */
  readonly access: Scope;
  readonly summary: string;
  readonly params: z.ZodType<P>;
  readonly query: z.ZodType<Q> | undefined;
  readonly body: z.ZodType<B> | undefined;
  readonly status: 200 | 201;
  readonly reply: z.ZodType<R>;
  /** `input`: the parsed params, query and body, and the caller. @throws ApiError */
  readonly answer: (context: ApiContext, input: unknown) => Promise<unknown>;
}

/** Defaults: GET, its access, no parameters, and status 201 for POST. */
interface Draft<P, Q, B, R>
  extends Pick<ApiRoute<P, Q, B, R>, 'id' | 'path' | 'summary' | 'reply'>,
    Partial<Pick<ApiRoute<P, Q, B, R>, 'method' | 'access' | 'params' | 'query' | 'body' | 'status'>> {
  readonly answer: (
    context: ApiContext,
    input: { readonly params: P; readonly query: Q; readonly body: B; readonly caller: Asker },
  ) => Promise<Immutable<R>>;
}

export function route<P, Q, B, R>(draft: Draft<P, Q, B, R>): ApiRoute<P, Q, B, R> {
  const { method = 'GET', params = NO_PARAMS, query, body, answer, ...rest } = draft;
  const { access = method === 'GET' ? 'read' : 'control', status = method === 'POST' ? 201 : 200 } = draft;
  const shape = { params: params as z.ZodType<P>, query, body };
  return { ...rest, ...shape, method, access, status, answer: answer as ApiRoute['answer'] };
}

const NO_PARAMS = z.strictObject({});
