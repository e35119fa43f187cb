/** Bundles the server answers with, written so that stored resources are copied, not parsed. https://hl7.org/fhir/R4/bundle.html */
import { parseJsonBytes, writeJson } from './json.ts'
import type { Element, Resource } from './resource.ts'

export type Link = { readonly relation: 'self' | 'first' | 'previous' | 'next'; readonly url: string }

/** `resource` stands before the other members of the entry, as bytes of JSON or as a tree. */
export type BundleEntry = { readonly fullUrl?: string; readonly resource?: Uint8Array | Resource; readonly more?: Element }

export type BundlePage = {
  readonly kind: 'bundle'
  readonly type: 'searchset' | 'history' | 'batch-response' | 'transaction-response'
  readonly total?: number
  readonly link: readonly Link[]
  readonly entries: readonly BundleEntry[]
}

export const isBundlePage = (body: unknown): body is BundlePage => (body as BundlePage | undefined)?.kind === 'bundle'

/** The page as a tree, for what has to look inside. */
export const bundleTree = (page: BundlePage): Resource => ({
  ...head(page),
  ...(page.entries.length === 0 ? {} : { entry: page.entries.map(entryTree) }),
})

/** The page as bytes of JSON. */
export function writeBundle(page: BundlePage): Uint8Array {
  if (!page.entries.some(({ resource }) => resource instanceof Uint8Array)) return ENCODER.encode(writeJson(bundleTree(page)))
  const parts: Uint8Array[] = []
  let text = `${writeJson(head(page)).slice(0, -1)},"entry":[`
  let open = '{'
  for (const { fullUrl, resource, more } of page.entries) {
    const before = fullUrl === undefined ? '' : `"fullUrl":${JSON.stringify(fullUrl)}`
    text += open + before
    if (resource !== undefined) {
      text += `${before === '' ? '' : ','}"resource":`
      if (resource instanceof Uint8Array) {
        parts.push(ENCODER.encode(text), resource)
        text = ''
      } else text += writeJson(resource)
    }
    const after = more === undefined ? '' : writeJson(more).slice(1, -1)
    text += `${after !== '' && (before !== '' || resource !== undefined) ? ',' : ''}${after}}`
    open = ',{'
  }
  parts.push(ENCODER.encode(`${text}]}`))
  return concat(parts)
}

const ENCODER = new TextEncoder()

const head = ({ type, total, link }: BundlePage): Resource => ({
  resourceType: 'Bundle',
  type,
  ...(total === undefined ? {} : { total }),
  ...(link.length === 0 ? {} : { link }),
})

const entryTree = ({ fullUrl, resource, more }: BundleEntry): Element => ({
  ...(fullUrl === undefined ? {} : { fullUrl }),
  ...(resource === undefined ? {} : { resource: resource instanceof Uint8Array ? parseJsonBytes(resource) : resource }),
  ...more,
})

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
