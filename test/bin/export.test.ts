/** What `fhir export` prints, and what it ends with, for who runs it each night. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { type Answered, bulkServer, rangedFile } from '../runtime/exporting/bulk-server.ts'
import { fhir } from './process.ts'

const PATIENT = '{"resourceType":"Patient","id":"1"}\n'
const outcome = (severity: string): string =>
  `${JSON.stringify({ resourceType: 'OperationOutcome', issue: [{ severity, code: 'exception', details: { text: 'Patient/3 is damaged' } }] })}\n`

const KICKED: Answered = { status: 202, headers: { 'content-location': '{base}/export/1' } }
const done = (error: readonly object[]): Answered => ({
  status: 200,
  body: JSON.stringify({
    ...{ transactionTime: '2026-11-22T10:00:00.000Z', requiresAccessToken: false, error },
    output: [{ type: 'Patient', url: '{base}/files/patients', count: 1 }],
  }),
})

const exportFrom = (base: string, ...more: readonly string[]) => {
  const folder = newFolder()
  return fhir('export', '--to', folder, '--from', base, '--data', join(folder, 'none'), ...more).then((ended) => ({ ...ended, folder }))
}

describe('An export that', () => {
  it('is all there ends with 0, one with errors with 4', async () => {
    const files = { 'GET /files/patients': rangedFile(PATIENT, '"a"'), 'GET /files/error': rangedFile(outcome('error'), '"e"') }
    const server = await bulkServer({
      ...files,
      'GET /Patient/$export': [KICKED],
      'GET /export/1': [done([]), done([{ type: 'OperationOutcome', url: '{base}/files/error' }])],
    })
    const { code, out, err, folder } = await exportFrom(server.base, '--patients')
    expect([code, out]).toEqual([0, `1 resources in 1 files as of 2026-11-22T10:00:00.000Z are in ${folder}\n`])
    expect(err).toBe(`${server.base}/export/1\n0 MB\n`)
    expect(await exportFrom(server.base, '--patients')).toMatchObject({ code: 4, err: expect.stringContaining('Patient/3 is damaged\n') })
  })

  it('is refused ends with 3, and says that no token was sent', async () => {
    const server = await bulkServer({ 'GET /$export': [{ status: 401 }] })
    const { code, err } = await exportFrom(server.base)
    expect([code, err]).toEqual([3, expect.stringContaining('The export is refused: 401 (no token was sent: no server runs on ')])
  })

  it.each([
    [[], "required option '--to <folder>' not specified"],
    [['--to', 'x', '--since', 'yesterday'], 'An instant'],
    [['--to', 'x', '--key', 'missing.json', '--client', 'c'], 'missing.json cannot be read'],
    [['--to', 'x', '--since', '2026-01-01T00:00:00Z', '--since-last'], 'cannot be used with'],
  ])('is asked for wrongly ends with 2: %j', async (options, reason) => {
    expect(await fhir('export', ...options)).toMatchObject({ code: 2, err: expect.stringContaining(reason) })
    expect(existsSync('x')).toBe(false)
  })
})
