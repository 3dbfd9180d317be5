/** A reply that takes the place of the exchange's own, which never sees the request, or of its answer (`applied`). */
export interface Instead {
  readonly name: string;
  readonly status: number;
  readonly body: string;
  readonly applied?: true;
  readonly contentType?: string;
}

const said = (status: number, code: number, message: string, errors: unknown = []): Instead => ({
  name: `${status} ${code} ${message} ${JSON.stringify(errors)}`,
  status,
  body: JSON.stringify({ code, message, errors }),
});

const raw = (status: number, body: string, more: Partial<Instead> = {}): Instead => ({
  name: `${status} ${body.slice(0, 40)}${more.applied ? ', applied' : ''}`,
  status,
  body,
  ...more,
});

const PAGE = '<html><body><h1>Error</h1></body></html>';
const html = (status: number, more: Partial<Instead> = {}): Instead =>
  raw(status, PAGE, { contentType: 'text/html', ...more });

/** Errors that may come in answer to any request: facts of specification 7 and the live notes. */
export const COMMON_ERRORS: readonly Instead[] = [
  said(400, 0, 'Validation failed', {}),
  said(400, 30, 'Validation failed'),
  said(422, 30, 'Validation failed', { market: ['Market field is required.'] }),
  said(422, 31, 'Market is not available', { market: ['Market is not available.'] }),
  said(400, 10, 'Market not found or disabled'),
  said(401, 0, 'Unauthorized request.'),
  said(401, 10, 'Unauthorized request.'),
  said(401, 0, 'Payload not provided.'),
  said(400, 0, 'Invalid payload'),
  said(401, 0, 'Nonce not provided.'),
  said(401, 0, 'Request not provided.'),
  said(401, 0, 'Your nonce is more than 5 seconds lesser than the current nonce'),
  said(422, 4, 'Too many requests.'),
  said(429, 0, 'Too many requests.'),
  said(403, 0, "You don't have permission to use this endpoint."),
  raw(200, JSON.stringify({ success: false, code: 0, message: "You don't have permission." })),
  said(400, 30, 'Empty history'),
  said(400, 30, 'internal error'),
  said(500, 0, 'Internal error'),
  said(503, 0, 'Service is temporarily unavailable'),
  raw(200, '{"response":null,"status":503,"errors":{},"notification":null}'),
  raw(200, '{"success":false,"message":{"market":["Market is not available."]},"result":[]}'),
  raw(422, '{"success":false,"message":{"market":["Market is not available."]},"result":[]}'),
  raw(400, '{"code":30,"message":"Validation failed","errors":["The market is not available."]}'),
  raw(404, ''),
  html(403),
  html(429),
  html(502),
  html(502, { applied: true }),
  html(200, { applied: true }),
  html(451),
  raw(200, '', { applied: true }),
  raw(200, 'null', { applied: true }),
  raw(200, 'true', { applied: true }),
  raw(200, '0', { applied: true }),
  raw(200, '"ok"', { applied: true }),
  raw(200, '[null]', { applied: true }),
  raw(200, '[[]]', { applied: true }),
  raw(200, '{"message":"ok"}', { applied: true }),
  raw(200, '{"result":{}}', { applied: true }),
  raw(204, '', { applied: true }),
  raw(302, '', { applied: true }),
];

/** Refusals of orders. */
export const ORDER_ERRORS: readonly Instead[] = [
  said(400, 10, 'Not enough balance', { amount: ['Not enough balance'] }),
  said(422, 32, 'Validation failed', { amount: ['Not enough balance.'] }),
  said(422, 32, 'Validation failed', { amount: ['Given amount is less than min amount 0.01'] }),
  said(422, 32, 'Validation failed', { amount: ['Should be a multiple of 100000.'] }),
  said(422, 32, 'Validation failed', { amount: ['Min amount step = 0.01'] }),
  said(422, 33, 'Validation failed', { price: ['Min price step = 1'] }),
  said(422, 33, 'Validation failed', { price: ['Price should be greater than 0.'] }),
  said(422, 36, 'Validation failed', { clientOrderId: ['ClientOrderId field should be unique.'] }),
  said(422, 36, 'Validation failed', { clientOrderId: ['ClientOrderId format is invalid.'] }),
  said(422, 30, 'Validation failed', {
    activationPrice: ['Activation price should not be equal to last price'],
  }),
  said(422, 30, 'Validation failed', { total: ['Total amount is less than 5.05'] }),
  said(422, 30, 'Validation failed', { total: ['Total amount is greater than 10000000'] }),
  said(422, 250, 'Validation failed', { price: ['Price should be less than or equal to 54000'] }),
  said(422, 250, 'Validation failed', { price: ['Price should be greater than or equal to 55000'] }),
  said(422, 250, 'Price is out of the band'),
  said(453, 30, 'Validation failed', { orderType: ['This order type is not available.'] }),
  said(422, 111, 'Position limit exceeded'),
  said(422, 112, 'Pending value limit exceeded'),
  said(422, 113, 'Position side cannot be changed'),
  said(422, 114, 'Position side does not match', { positionSide: ['Position side is invalid.'] }),
  said(422, 115, 'Opposite direction'),
  said(422, 116, 'Reduce-only order would not reduce'),
  said(422, 999, 'Something new'),
];

/** Answers to cancel-all. */
export const CANCEL_ERRORS: readonly Instead[] = [
  said(422, 2, 'Inner validation failed', { order_id: ['Unexecuted order was not found.'] }),
  said(400, 10, 'Insufficient balance'),
  raw(200, '{}', { applied: true }),
  raw(200, '{"orders":[]}', { applied: true }),
  raw(200, '[{"orderId":1,"status":"CANCELED"}]', { applied: true }),
];

/** Answers to a question for loans. */
export const LOAN_ERRORS: readonly Instead[] = [
  said(400, 0, 'No active loan at the moment'),
  said(404, 0, 'Not found'),
];
