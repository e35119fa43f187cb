/** Pages of Bundles written as text equal the same Bundle written as a tree, for every form of entry. */
import { describe, expect, it } from '@jest/globals'
import { type BundleEntry, type BundlePage, writeBundleChunks } from '../../lambdas/fhir/bundle.ts'
import { writeJson } from '../../lambdas/fhir/json.ts'
import { writeBundle } from '../../lambdas/interactions/json-chunks.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const PATIENT = '{"resourceType":"Patient","name":[{"text":"a\\nä"}],"active":true}'
const page = (entries: readonly BundleEntry[], more: Partial<BundlePage> = {}): BundlePage => ({
  kind: 'bundle',
  type: 'searchset',
  link: [],
  entries,
  ...more,
})
const more = { search: { mode: 'match' } }
const outcome = { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'invalid' }] }

describe('the text of a page', () => {
  const entries: readonly BundleEntry[] = [
    { fullUrl: 'http://x/"1"', resource: bytes(PATIENT), more },
    { fullUrl: 'http://x/2', resource: bytes(PATIENT) },
    { resource: bytes(PATIENT), more },
    { resource: [bytes(PATIENT.slice(0, 5)), bytes(PATIENT.slice(5))], more },
    { resource: bytes(PATIENT) },
    { resource: outcome, more },
    { fullUrl: 'urn:x', more: { response: { status: '204 No Content', score: '\u00001.10' } } },
    { more },
  ]
  const trees = [
    { fullUrl: 'http://x/"1"', resource: JSON.parse(PATIENT), ...more },
    { fullUrl: 'http://x/2', resource: JSON.parse(PATIENT) },
    { resource: JSON.parse(PATIENT), ...more },
    { resource: JSON.parse(PATIENT), ...more },
    { resource: JSON.parse(PATIENT) },
    { resource: outcome, ...more },
    { fullUrl: 'urn:x', response: { status: '204 No Content', score: '\u00001.10' } },
    more,
  ]
  const head = { resourceType: 'Bundle', type: 'searchset' }
  const link = [{ relation: 'self', url: 'http://x' }] as const
  const long = Array.from({ length: 2_000 }, (_, i) => ({ more: { response: { status: `${i}`, etag: 'x'.repeat(80) } } }))

  it.each<[string, BundlePage, object]>([
    ['entries of every kind', page(entries, { total: 9, link }), { ...head, total: 9, link, entry: trees }],
    ['one entry', page(entries.slice(0, 1)), { ...head, entry: trees.slice(0, 1) }],
    ['no entries', page([], { link }), { ...head, link }],
    ['many entries', page(long), { ...head, entry: long.map(({ more }) => more) }],
  ])('equals the text of the tree: %s', async (_, given, tree) => {
    expect(Buffer.concat([...writeBundleChunks(given)]).toString()).toBe(writeJson(tree))
    expect(Buffer.concat(await writeBundle(given, true)).toString()).toBe(
      `${JSON.stringify(tree, null, 2).replace('"\\u00001.10"', '1.10')}\n`,
    )
  })
})

describe('a written page', () => {
  it('is one piece if it is short', async () => expect(await writeBundle(page([{ resource: bytes(PATIENT) }, { more }]))).toHaveLength(1))

  it('contains large resources without copying or joining them', async () => {
    const large = bytes(`{"resourceType":"Basic","id":"${'x'.repeat(300_000)}"}`)
    const pieces = await writeBundle(page(Array.from({ length: 200 }, () => ({ resource: large, more }))))
    expect(pieces.filter((piece) => piece === large)).toHaveLength(200)
    const others = pieces.filter((piece) => piece !== large)
    expect(Math.max(...others.map(({ length }) => length))).toBeLessThan(1_000)
    // The small pieces share few buffers.
    expect(new Set(others.map(({ buffer }) => buffer)).size).toBeLessThan(5)
  })

  it('has no piece longer than 128 kB if it has many small entries', async () => {
    const findings = Array.from({ length: 100 }, () => outcome.issue[0]!)
    const small = { more: { response: { outcome: { ...outcome, issue: findings } } } }
    const pieces = await writeBundle(page(Array.from({ length: 2_000 }, () => small)))
    expect(pieces.length).toBeGreaterThan(100)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(131_072)
  })
})
