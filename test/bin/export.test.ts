/** Output and exit codes of `fhir export`, for operators that run it each night. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { errorMessageOf } from '../../bin/output.ts'
import type { Manifest } from '../../lambdas/export/job/manifest.ts'
import { freePort } from '../engines/engine.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { type PreparedResponse, rangeResponder, startBulkServer } from './export/bulk-server.ts'
import { runFhir, startFhir } from './process.ts'

const PATIENT = '{"resourceType":"Patient","id":"1"}\n'
const outcome = (severity: string): string =>
  `${JSON.stringify({ resourceType: 'OperationOutcome', issue: [{ severity, code: 'exception', details: { text: 'Patient/3 is damaged' } }] })}\n`

const KICKED: PreparedResponse = { status: 202, headers: { 'content-location': '{base}/export/1' } }
const done = (error: readonly object[], more: object = {}): PreparedResponse => ({
  status: 200,
  body: JSON.stringify({
    ...{ transactionTime: '2026-11-22T10:00:00.000Z', requiresAccessToken: false, error },
    output: [{ type: 'Patient', url: '{base}/files/patients', count: 1 }],
    ...more,
  }),
})

const exportFrom = (base: string, ...more: readonly string[]) => {
  const folder = newFolder()
  return runFhir('export', '--to', folder, '--from', base, '--data', join(folder, 'none'), ...more).then((ended) => ({ ...ended, folder }))
}

/** `severity`: severity of the issue in the error file, if the export has one. */
async function exportOf(answer: PreparedResponse, severity = 'error') {
  const { base } = await startBulkServer({
    'GET /files/patients': rangeResponder(PATIENT, '"a"'),
    'GET /files/error': rangeResponder(outcome(severity), '"e"'),
    'GET /Patient/$export': [KICKED],
    'GET /export/1': [answer],
  })
  return { base, ...(await exportFrom(base, '--patients')) }
}

describe('fhir export', () => {
  it('exits with 0 if the export is complete', async () => {
    const { code, out, err, folder, base } = await exportOf(done([]))
    expect([code, out]).toEqual([0, `1 resource in 1 file as of 2026-11-22T10:00:00.000Z: in ${folder}\n`])
    expect(err).toBe(`${base}/export/1\n0 MB\n`)
  })

  it.each([
    ['error', 4],
    ['warning', 4],
    ['information', 0],
  ])('prints an issue of severity %s, and exits with %i', async (severity, code) => {
    const ended = await exportOf(done([{ type: 'OperationOutcome', url: '{base}/files/error' }]), severity)
    expect(ended).toMatchObject({ code, err: expect.stringContaining('Patient/3 is damaged\n') })
  })

  it('names the types that a server setting omits, and exits with 0', async () => {
    const omittedTypes = { types: ['Claim', 'Coverage'], setting: 'FHIR_GROUP_EXPORT_TYPES' }
    const { code, err } = await exportOf(done([], { extension: { omittedTypes } satisfies Manifest['extension'] }))
    const sentence =
      "The export omits stored resources of 2 types that the server's setting FHIR_GROUP_EXPORT_TYPES does not list: Claim, Coverage\n"
    expect([code, err]).toEqual([0, expect.stringContaining(sentence)])
  })

  it.each([
    ['text', 'omittedTypes'],
    ['no types', { omittedTypes: { types: [], setting: 'S' } }],
    ['no setting', { omittedTypes: { types: ['Claim'] } }],
    ['types that are no names', { omittedTypes: { types: ['\u001b[2J'], setting: 'S' } }],
    ['a setting that is no name', { omittedTypes: { types: ['Claim'], setting: '\u001b[2J' } }],
  ])('names no types for an extension of another server: %s', async (_, extension) => {
    expect((await exportOf(done([], { extension }))).err).not.toContain('omits')
  })

  it('reports that an export has no resources', async () => {
    const nothing = JSON.stringify({ transactionTime: '2026-11-22T10:00:00.000Z', output: [] })
    const { out, folder } = await exportOf({ status: 200, body: nothing })
    expect(out).toBe(`No resources as of 2026-11-22T10:00:00.000Z: ${folder} has the manifest\n`)
  })

  it('exits with 5 if no server answers at the address', async () => {
    const nobody = `http://127.0.0.1:${await freePort()}/fhir`
    const { code, err } = await exportFrom(nobody)
    expect([code, err]).toEqual([5, `fhir: ${nobody}/$export cannot be reached (ECONNREFUSED)\n`])
  })

  it('exits with 3 for a 401, and says that no token was sent', async () => {
    const server = await startBulkServer({ 'GET /$export': [{ status: 401 }] })
    const { code, err } = await exportFrom(server.base)
    expect([code, err]).toEqual([3, expect.stringContaining('The export is refused: 401 (no token was sent: no server runs on ')])
  })

  it('exits with 3 for a 400, and does not mention tokens', async () => {
    const server = await startBulkServer({ 'GET /$export': [{ status: 400 }] })
    expect(await exportFrom(server.base)).toMatchObject({ code: 3, err: 'fhir: The export is refused: 400\n' })
  })

  it.each([
    [[], "required option '--to <folder>' not specified"],
    [['--to', 'x', '--since', 'yesterday'], 'An instant'],
    [['--to', 'x', '--key', 'missing.json', '--client', 'c'], 'missing.json cannot be read'],
    [['--to', 'x', '--since', '2026-01-01T00:00:00Z', '--since-last'], 'cannot be used with'],
  ])('exits with 2 for wrong options: %j', async (options, reason) => {
    expect(await runFhir('export', ...options)).toMatchObject({ code: 2, err: expect.stringContaining(reason) })
    expect(existsSync('x')).toBe(false)
  })

  it.each([
    ['cancels the job', [], 202, '', 'the export is cancelled. With --keep, the next run continues it'],
    ['leaves the job to the next run with --keep', ['--keep'], 202, '', 'run the same command again to continue'],
    [
      'says that the server did not cancel the job',
      [],
      403,
      'fhir: The job could not be cancelled: 403\n',
      'run the same command again to continue',
    ],
  ])('on Ctrl-C %s, and exits with 130', async (_, options, status, reason, rest) => {
    const { base } = await startBulkServer({
      'GET /Patient/$export': [KICKED],
      'GET /export/1': [{ status: 202, headers: { 'x-progress': '10%', 'retry-after': '3600' } }],
      'DELETE /export/1': [{ status }],
    })
    const folder = newFolder()
    const running = startFhir('export', '--to', folder, '--from', base, '--data', join(folder, 'none'), '--patients', ...options)
    running.child.stderr!.on('data', (data) => String(data).includes('10%') && running.child.kill('SIGINT'))
    const { code, out, err } = await running.ended
    expect([code, out, err]).toEqual([130, '', `${base}/export/1\n10%\n${reason}fhir: Interrupted: ${rest}\n`])
    expect(readdirSync(folder)).toEqual(['export-state.json'])
  })
})

it('A full disk is reported with the folder', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' })
  expect(errorMessageOf(full, 'nightly')).toBe('nightly cannot be written to (ENOSPC, write)')
  expect(errorMessageOf(Object.assign(full, { path: 'a' }), 'nightly')).toBe('a cannot be used (ENOSPC, write)')
})
