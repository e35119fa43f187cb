/** Address of the client, for rate limits and audit records. */
import type { IncomingMessage } from 'node:http'

/**
 * Returns the address of the client. `header`: header in which the proxy before the server names it.
 * Only the last value of a list is trusted, because clients can send the values before it.
 * Without a header, or without an address in it, the address is that of the connection.
 */
export function addressOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>, header = ''): { readonly address?: string } {
  const told =
    header === ''
      ? ''
      : plain(
          String(headers[header.toLowerCase()] ?? '')
            .split(',')
            .at(-1)!
            .trim(),
        )
  if (ADDRESS.test(told)) return { address: told }
  return socket.remoteAddress === undefined ? {} : { address: plain(socket.remoteAddress) }
}

/** Matches text with the form of an IPv4 or IPv6 address. It does not check the ranges of the numbers. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:)[\da-f:]{2,39})$/i

/** Removes `::ffff:`, with which a socket for both IPv4 and IPv6 shows IPv4 addresses. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '')
