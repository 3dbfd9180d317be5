import type { ServedEndpoint } from '../http/dispatch.ts';
import type { Reply } from '../http/reply.ts';
import { ParamReader } from './params.ts';
import { commandReply, type EndpointParts, invalidParams, rejected } from './parts.ts';

/** Specification 4.7. */
export function hedgeModeEndpoint(parts: EndpointParts): ServedEndpoint {
  return {
    name: 'hedgeMode',
    httpMethod: 'POST',
    path: '/api/v4/collateral-account/hedge-mode/update',
    permission: 'trading',
    isCommand: true,
    handle: ({ accountId, params }): Reply => {
      const reader = new ParamReader(params);
      const hedgeMode = reader.requiredBoolean('hedgeMode');
      if (hedgeMode === undefined) return invalidParams(parts.model, reader.problems);
      const outcome = parts.model.setHedgeMode(accountId, hedgeMode);
      if (!outcome.ok) return rejected(parts.model, outcome);
      return commandReply(parts.model, { hedgeMode: outcome.hedgeMode });
    },
  };
}
