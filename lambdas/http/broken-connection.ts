/**
 * Answers connections with bytes that node:http cannot parse as a request.
 * https://nodejs.org/docs/latest-v24.x/api/http.html#event-clienterror
 */
import { once } from 'node:events'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type FhirError, fhirError } from '../fhir/outcome.ts'
import type { HttpResponse } from './exchange.ts'
import { lengthOf } from './response-memory.ts'

/** Returns the error to send for a connection error of node:http, or undefined if the client has disconnected. */
export function connectionErrorOf({ code = '' }: NodeJS.ErrnoException): FhirError | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return fhirError(408, 'timeout', 'The request did not come in time')
  if (code === 'HPE_HEADER_OVERFLOW') return fhirError(431, 'too-long', 'The URL and the headers are too long')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return fhirError(413, 'too-long', 'The extensions of a chunk are too long')
  if (code === 'HPE_INVALID_URL') return fhirError(400, 'value', 'The URL has characters that must be percent-encoded as UTF-8')
  return code.startsWith('HPE_') ? fhirError(400, 'structure', 'This is not HTTP/1.1') : undefined
}

/**
 * Sends the response after those to earlier requests on the connection, then closes it. `latest`: response to the latest earlier request.
 */
export async function answerConnection(socket: Duplex, latest: ServerResponse | undefined, response: HttpResponse): Promise<void> {
  if (latest !== undefined && !latest.writableFinished && !latest.destroyed) await once(latest, 'close')
  if (!socket.writable) return void socket.destroy()
  const { status, headers, body = [] } = response
  const shown = { ...headers, 'content-length': lengthOf(body), connection: 'close' }
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...Object.entries(shown).map(([name, value]) => `${name}: ${value}`)]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  for (const piece of body) socket.write(piece)
  socket.end(() => socket.destroy())
}
