/** Whether an order is the daemon's, by the prefix of its id; not the source's constant, which would hide a change of it. */
export function isOurs({ clientOrderId }: { readonly clientOrderId?: string | undefined }): boolean {
  return clientOrderId?.startsWith('bw') === true;
}
