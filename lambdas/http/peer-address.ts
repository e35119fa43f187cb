/** Who asks, by address: what limits count by, and audit records name. */
import type { IncomingMessage } from 'node:http'

/**
 * `header`: in which what ends TLS before the server says it, as the last of a list: what stands before it, clients may have said of themselves.
 * Without one, or where it says none, it is the peer.
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

/** Of IPv4 or IPv6, nearly. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:)[\da-f:]{2,39})$/i

/** Without what marks one of IPv4 in a socket of both kinds. */
const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '')
