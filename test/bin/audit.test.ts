/** `fhir audit` on a data folder. test/bin/stage.test.ts reads the records of a stage. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { runFhir, startOpenServer } from './process.ts'

describe('fhir audit', () => {
  it('prints the requests that showed a patient, as a table and as JSON', async () => {
    const data = newFolder()
    const { base, stop } = await startOpenServer('--data', data)
    const headers = { 'content-type': 'application/fhir+json' }
    for (const id of ['1', '11'])
      await fetch(`${base}/Patient/${id}`, { method: 'PUT', headers, body: JSON.stringify({ resourceType: 'Patient', id }) })
    await fetch(`${base}/Patient?_id=1`)
    await fetch(`${base}/Patient/11`)
    await stop()
    const table = await runFhir('audit', '--data', data, '--patient', 'Patient/1', '--since', '5m')
    expect([table.code, table.err]).toEqual([0, ''])
    const rows = table.out.trimEnd().split('\n').map((line) => line.split(/ {2,}/).slice(1)) // biome-ignore format: one line
    expect(rows).toEqual([
      ['STATUS', 'INTERACTION', 'WHAT', 'TENANT', 'CLIENT', 'USER'],
      ['201', 'update', 'Patient/1', 'default'],
      ['200', 'search-type', 'Patient', 'default'],
    ])
    const { out } = await runFhir('audit', '--data', data, '--patient', '11', '--json')
    const records = out.trimEnd().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
    expect(records).toMatchObject([
      { interaction: 'update', key: 'Patient/11', status: 201, at: expect.stringMatching(/^\d{4}-.*Z$/) },
      { interaction: 'read', key: 'Patient/11', status: 200 },
    ])
    const none = await runFhir('audit', '--data', data, '--client', 'nobody', '--since', '2026-01-01', '--until', '2026-01-02')
    expect(none).toEqual({
      code: 0,
      out: '',
      err: 'fhir: no request from 2026-01-01T00:00:00.000Z to 2026-01-02T00:00:00.000Z matches\n',
    })
  })

  it('rejects a folder without records and an invalid time', async () => {
    const folder = newFolder()
    expect(await runFhir('audit', '--data', folder)).toMatchObject({
      code: 1,
      err: `fhir: There are no audit records in ${folder}: name the data folder of a server by --data\n`,
    })
    const { code, err } = await runFhir('audit', '--data', folder, '--since', 'yesterday')
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('Expected a date (2026-01-31), a time (2026-01-31T08:00:00Z), or an age (30m, 12h, 7d).'),
    ])
  })

  it('ends when its output is closed', async () => {
    const folder = newFolder()
    mkdirSync(join(folder, 'audit'))
    const record = { requestId: 'r', tenant: 'default', interaction: 'read', key: 'Patient/1', status: 200, duration: 1 }
    const line = `${JSON.stringify({ ...record, at: '2026-01-02T03:04:05.000Z' })}\n`
    writeFileSync(join(folder, 'audit', '2026-01-02.jsonl'), line.repeat(200_000))
    const child = spawn(process.execPath, ['bin/fhir.js', 'audit', '--data', folder, '--since', '2026-01-01', '--until', '2026-02-01'])
    let err = ''
    child.stderr.on('data', (data) => (err += data))
    await once(child.stdout, 'data')
    child.stdout.destroy()
    expect([await once(child, 'close'), err]).toEqual([[0, null], ''])
  })
})
