/** Reports whether a host is this machine: a name or an address, an IPv6 address also in the brackets of a URL. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\])$/.test(host);
}
