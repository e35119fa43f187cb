/** Assertions on responses that both kits share. */
import { expect } from '@jest/globals'
import type { Tree } from '../../fixtures/resources.ts'
import type { ExportLevel, RequestContent, Site, TestResponse } from './site.ts'

export function expectOutcome(answer: TestResponse, ...statuses: readonly number[]): void {
  expect(statuses).toContain(answer.status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/(?:fhir\+)?json/)
  expect(answer.body.resourceType).toBe('OperationOutcome')
  expect(answer.body.issue[0]).toMatchObject({ severity: 'error', code: expect.any(String) })
}

/** Expects the kick-off to be rejected. Cancels the export if it started. */
export async function expectRejected(site: Site, level: ExportLevel, query = {}, content: RequestContent = {}): Promise<void> {
  const answer = await site.kickOff(level, query, content)
  if (answer.status === 202) await site.cancel(answer)
  expectOutcome(answer, 400, 401, 403, 406)
}

/** Expects the kick-off to be accepted, and cancels the export. */
export async function expectAccepted(site: Site, level: ExportLevel, query = {}, content: RequestContent = {}): Promise<void> {
  const answer = await site.kickOff(level, query, content)
  await site.cancel(answer)
  expectStarted(answer)
}

export function expectStarted({ status, headers, text }: TestResponse): void {
  expect([status, text]).toEqual([202, ''])
  expect(headers.get('content-location')).toMatch(/^http:\/\/127\.0\.0\.1\/fhir\/export\/[\w-]+$/)
}

/** Runs an export, passes its manifest to `use`, and cancels the export. */
export async function withExport(
  site: Site,
  level: ExportLevel,
  query = {},
  content: RequestContent = {},
  use?: (manifest: Tree) => Promise<void>,
): Promise<void> {
  const answer = await site.kickOff(level, query, content)
  try {
    expectStarted(answer)
    const { status, headers, body } = await site.finished(answer)
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
    await use?.(body)
  } finally {
    await site.cancel(answer)
  }
}

const WHOLE = new WeakMap<Site, Map<ExportLevel, Promise<Tree>>>()

/** Passes the manifest of a complete export of a level to `use`. All rows share one export per level. */
export async function withLevelExport(site: Site, level: ExportLevel, use: (manifest: Tree) => Promise<void>): Promise<void> {
  const exports = WHOLE.get(site) ?? new Map<ExportLevel, Promise<Tree>>()
  WHOLE.set(site, exports)
  if (!exports.has(level))
    exports.set(
      level,
      site.kickOff(level).then(async (answer) => (await site.finished(answer)).body),
    )
  await use((await exports.get(level))!)
}

export const parametersContent = (...parameter: readonly Tree[]): RequestContent => ({ body: { resourceType: 'Parameters', parameter } })
export const textParameter = (name: string, valueString: string): Tree => ({ name, valueString })
export const LENIENT_HANDLING: RequestContent = { headers: { prefer: 'respond-async,handling=lenient' } }

/** Expects a valid entry of a manifest. */
export function expectEntry(item: Tree, type?: string): void {
  expect(item).toEqual({ type: expect.any(String), url: expect.stringMatching(/^https?:\/\//), count: expect.any(Number) })
  expect(item.count).toBeGreaterThan(0)
  if (type !== undefined) expect(item.type).toBe(type)
}
