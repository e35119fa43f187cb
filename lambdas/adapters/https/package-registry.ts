/**
 * Fetches packages from an npm registry: GET /NAME lists the versions, each with the URL and the hash of its archive.
 * https://confluence.hl7.org/display/FHIR/NPM+Package+Specification https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md
 */
import { createHash } from 'node:crypto'
import { type IncomingMessage, request as requestPlain } from 'node:http'
import { request } from 'node:https'
import { isIP } from 'node:net'
import { compareVersions } from '../../ports/definitions/version-order.ts'
import { guardedLookup } from './fetch-document.ts'
import { type AddressFilter, privateAddressMessage } from './private-hosts.ts'

export type RegistryOptions = {
  /** URL without a slash at the end: https, or http with a loopback address. Only a loopback registry may refer to loopback addresses. */
  readonly registry: string
  readonly mayReach: AddressFilter
}

/** Timeout in milliseconds until a response is complete, including redirects. */
const PATIENCE = 120_000
const REDIRECTS = 5
/** Maximum bytes of a response: of a list of versions, and of an archive. Fetching a larger one fails. */
const LONGEST = { listing: 32 * 1024 ** 2, archive: 256 * 1024 ** 2 }
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

type Dist = { readonly tarball?: unknown; readonly shasum?: unknown; readonly integrity?: unknown }
type Listing = {
  readonly versions?: Readonly<Record<string, { readonly dist?: Dist } | undefined>>
  readonly 'dist-tags'?: Readonly<Record<string, unknown>>
}

export type FetchedArchive = { readonly archive: Uint8Array; readonly version: string }

/**
 * Returns the archive of a package version. `asked`: a version, `1.0.x`, or `latest`. Throws an Error with the available versions if there
 * is no such version, and an Error if the archive does not match the listed hash.
 */
export async function fetchArchive(name: string, asked: string, options: RegistryOptions): Promise<FetchedArchive> {
  const { registry } = options
  const listing = parsed(await fetched(`${registry}/${encodeURIComponent(name)}`, LONGEST.listing, options), registry)
  const versions = listing.versions ?? {}
  const version = versionOf(asked, name, listing)
  const dist = Object.hasOwn(versions, version) ? versions[version]?.dist : undefined
  if (dist === undefined)
    throw new Error(`${registry} has no ${name} ${version}: ${known(Object.keys(versions).toSorted(compareVersions))}`)
  if (typeof dist.tarball !== 'string') throw new Error(`${registry} does not say where the archive of ${name} ${version} is`)
  const archive = await fetched(dist.tarball, LONGEST.archive, options)
  checkHash(archive, dist, `${name} ${version}`)
  return { archive, version }
}

/** Version names of continuous builds. Only https://build.fhir.org publishes them; registries do not. */
const UNPUBLISHED: ReadonlySet<string> = new Set(['current', 'dev'])

/**
 * Returns the version that `asked` selects. `1.0.x` and a missing tag `latest` select the newest release, or the newest pre-release if
 * there is no release.
 */
function versionOf(asked: string, name: string, { versions = {}, 'dist-tags': tags = {} }: Listing): string {
  const all = Object.keys(versions).toSorted(compareVersions)
  if (UNPUBLISHED.has(asked))
    throw new Error(`${name}@${asked} is not published, because its content changes with each build: ${known(all)}`)
  if (asked === 'latest' && typeof tags.latest === 'string') return tags.latest
  if (asked !== 'latest' && !asked.endsWith('.x')) return asked
  const some = asked === 'latest' ? all : all.filter((version) => version.startsWith(asked.slice(0, -1)))
  return some.findLast((version) => !version.includes('-')) ?? some.at(-1) ?? asked
}

const SHOWN = 10
const known = (versions: readonly string[]): string =>
  versions.length === 0 ? 'it has no version of it' : `it has ${versions.slice(-SHOWN).join(', ')}`

function parsed(bytes: Uint8Array, registry: string): Listing {
  try {
    return Object(JSON.parse(Buffer.from(bytes).toString('utf8')))
  } catch {
    throw new Error(`The response of ${registry} is not JSON`)
  }
}

/**
 * Throws if the archive does not match its listed hashes: `integrity` (https://www.w3.org/TR/SRI/), otherwise SHA-1. An archive without a
 * listed hash is accepted.
 */
function checkHash(archive: Uint8Array, { integrity, shasum }: Dist, what: string): void {
  const hashes = typeof integrity === 'string' ? [...integrity.matchAll(/(sha(?:256|384|512))-([A-Za-z0-9+/=]+)/g)] : []
  const hash = (algorithm: string, encoding: 'base64' | 'hex') => createHash(algorithm).update(archive).digest(encoding)
  const isRight =
    hashes.length > 0
      ? hashes.every(([, algorithm, expected]) => hash(algorithm!, 'base64') === expected)
      : typeof shasum !== 'string' || shasum === '' || hash('sha1', 'hex') === shasum.toLowerCase()
  // guard: package-digest
  if (!isRight) throw new Error(`The archive of ${what} is not the one that is listed: its hash is another`)
}

async function fetched(from: string, longest: number, options: RegistryOptions): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(PATIENCE)
  for (let url = urlOf(from), redirects = 0; ; redirects++) {
    const incoming = await answered(url, signal, options)
    try {
      const { statusCode = 0, headers } = incoming
      if (statusCode < 300 || statusCode >= 400 || headers.location === undefined) return await bodyOf(incoming, url, longest)
      if (redirects === REDIRECTS) throw new Error(`${from} leads from one place to the next`)
      url = urlOf(headers.location, url)
    } finally {
      incoming.destroy()
    }
  }
}

function urlOf(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (url === null) throw new Error(`${text} is not a URL`)
  return url
}

/** Sends a request. Checks the address at the moment of connecting. Only a loopback registry may refer to loopback addresses. */
function answered(url: URL, signal: AbortSignal, { registry, mayReach }: RegistryOptions): Promise<IncomingMessage> {
  const isLocal = LOOPBACK.test(new URL(registry).hostname) && LOOPBACK.test(url.hostname)
  if (url.username !== '' || url.password !== '') throw new Error(`${url.host} is asked without a name and password only`)
  if (url.protocol !== 'https:' && !(isLocal && url.protocol === 'http:')) throw new Error(`${url.origin} is not asked: it is not https`)
  const may: AddressFilter = (address, host) => isLocal || mayReach(address, host)
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && !may(literal, literal)) throw new Error(privateAddressMessage(literal, literal))
  const options = { lookup: guardedLookup(may), agent: false, signal, headers: HEADERS } as const
  const ask = url.protocol === 'https:' ? request : requestPlain
  return new Promise((resolve, reject) =>
    ask(url, options, resolve)
      .on('error', (error) =>
        reject(
          new Error(`${url.origin} cannot be reached (${error.message}). Without it, add the file of the archive: FILE.tgz`, {
            cause: error,
          }),
        ),
      )
      .end(),
  )
}

const HEADERS = { accept: 'application/json, application/gzip, */*', 'accept-encoding': 'identity', connection: 'close' }

async function bodyOf(incoming: IncomingMessage, { href }: URL, longest: number): Promise<Uint8Array> {
  if (incoming.statusCode !== 200) throw new Error(`${href} is answered by ${incoming.statusCode}`)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > longest) throw new Error(`${href} is longer than ${longest} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
