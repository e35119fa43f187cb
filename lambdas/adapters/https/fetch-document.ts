/**
 * Fetches documents of other servers over HTTPS. It checks the address at the moment of connecting: an earlier DNS lookup may have returned
 * another address.
 */
import { lookup } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { type FetchDocument, type FetchedDocument, NotFetched } from '../../ports/security/fetch-document.ts'
import { type AddressFilter, addressFilterOf, privateAddressMessage } from './private-hosts.ts'

/**
 * `mayReach`: filter of accepted addresses. Default: public addresses only. For tests: `ca`, the certificate of the issuer, and `patience`,
 * the timeout in milliseconds.
 */
export type FetchOptions = { readonly mayReach?: AddressFilter; readonly ca?: string; readonly patience?: number }

/** Timeout of a request until its response is complete, in milliseconds. */
const PATIENCE = 2_000
/** Maximum bytes of a document. Fetching a larger one fails. */
const LONGEST = 256 * 1024

export const fetchDocument =
  (options: FetchOptions = {}): FetchDocument =>
  async (url) => {
    try {
      return await fetched(new URL(url), options)
    } catch (error) {
      throw new NotFetched((error as Error).message, { cause: error })
    }
  }

async function fetched(url: URL, { mayReach = addressFilterOf([]), ca, patience = PATIENCE }: FetchOptions): Promise<FetchedDocument> {
  const { protocol, hostname, username, password } = url
  if (protocol !== 'https:' || username !== '' || password !== '') throw new Error('only https is fetched, and without a name and password')
  const literal = hostname.replace(/^\[|\]$/g, '')
  // guard: fetch-rejects-private-address
  if (isIP(literal) !== 0 && !mayReach(literal, literal)) throw new Error(privateAddressMessage(literal, literal))
  // `agent: false` opens a new connection, so its address is checked. It also ignores the proxy settings of the environment.
  const signal = AbortSignal.timeout(patience)
  const options = { lookup: guardedLookup(mayReach), agent: false, signal, headers: HEADERS, ...(ca === undefined ? {} : { ca }) } as const
  const incoming = await new Promise<IncomingMessage>((resolve, reject) => request(url, options, resolve).on('error', reject).end())
  try {
    const maxAge = maxAgeOf(incoming.headers)
    return { bytes: await bodyOf(incoming), ...(maxAge === undefined ? {} : { maxAge }) }
  } finally {
    incoming.destroy()
  }
}

const HEADERS = { accept: 'application/json', 'accept-encoding': 'identity', connection: 'close' }

/** Returns a DNS lookup that fails if the filter rejects any address of the name. */
export const guardedLookup =
  (mayReach: AddressFilter): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const [first] = found ?? []
      if (error !== null) return callback(error, '')
      const walled = found.find(({ address }) => !mayReach(address, hostname))
      // guard: fetch-rejects-private-host
      if (walled !== undefined) return callback(new Error(privateAddressMessage(walled.address, hostname)), '')
      if (first === undefined) return callback(new Error(`${hostname} has no address`), '')
      return options.all ? callback(null, found) : callback(null, first.address, first.family)
    })

/**
 * Returns how long the response may be cached, in milliseconds. 0: not at all. undefined: the headers do not limit it.
 * https://www.rfc-editor.org/rfc/rfc9111#section-5.2.2
 */
function maxAgeOf({ 'cache-control': control = '', age = '0' }: IncomingHttpHeaders): number | undefined {
  const directives = control.toLowerCase().split(',')
  if (directives.some((each) => /^\s*no-(?:store|cache)\s*(?:=|$)/.test(each))) return 0
  const [seconds] = directives.flatMap((each) => /^\s*max-age="?(\d{1,9})"?\s*$/.exec(each)?.[1] ?? [])
  const passed = /^\d{1,9}$/.test(age) ? Number(age) : 0
  return seconds === undefined ? undefined : Math.max(0, Number(seconds) - passed) * 1000
}

async function bodyOf(incoming: IncomingMessage): Promise<Uint8Array> {
  if (incoming.statusCode !== 200) throw new Error(`it is answered by ${incoming.statusCode}`)
  if ((incoming.headers['content-encoding'] ?? 'identity') !== 'identity') throw new Error('it is compressed')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    // guard: fetch-size-limit
    if (size > LONGEST) throw new Error(`it is longer than ${LONGEST} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
