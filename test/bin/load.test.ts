/** `fhir load` against a running server and against addresses without one. */
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { freePort } from '../engines/engine.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { fetchJson, runFhir, startOpenServer } from './process.ts'

describe('fhir load', () => {
  it('loads Bundles, resources and NDJSON, also compressed or repeated, and reports failures', async () => {
    const server = await startOpenServer('--memory')
    const folder = newFolder()
    mkdirSync(join(folder, 'below'))
    const bundle = {
      resourceType: 'Bundle',
      type: 'transaction',
      entry: [
        {
          fullUrl: 'urn:uuid:p1',
          resource: { resourceType: 'Patient', id: 'p1', active: true },
          request: { method: 'POST', url: 'Patient' },
        },
        {
          fullUrl: 'urn:uuid:o1',
          resource: { resourceType: 'Observation', id: 'o1', status: 'final', code: { text: 'x' }, subject: { reference: 'urn:uuid:p1' } },
          request: { method: 'POST', url: 'Observation' },
        },
      ],
    }
    writeFileSync(join(folder, 'bundle.json'), JSON.stringify(bundle, undefined, 2))
    writeFileSync(join(folder, 'below', 'one.JSON.GZ'), gzipSync('{"resourceType":"Patient","id":"p2","multipleBirthInteger":2}'))
    writeFileSync(
      join(folder, 'below', 'many.ndjson'),
      Array.from({ length: 30 }, (_, i) => `{"resourceType":"Basic","id":"b${i}","code":{"text":"x"}}`).join('\n'),
    )
    for (const version of ['1', '2']) {
      const { code, out, err } = await runFhir('load', folder, '--to', server.base)
      expect([code, out, err]).toEqual([0, expect.stringContaining('33 resources of 3 files loaded'), ''])
      expect((await fetchJson(`${server.base}/Observation/o1`)).subject.reference).toBe('Patient/p1')
      expect((await fetchJson(`${server.base}/Basic/b7`)).meta.versionId).toBe(version)
    }
    writeFileSync(
      join(folder, 'wrong.ndjson'),
      '{"resourceType":"Basic","id":"ok","code":{"text":"x"}}\n{"resourceType":"Basic","id":"bad"}\n{"resourceType"\n{"resourceType":"Basic","id":"ok2","code":{"text":"x"}}\n',
    )
    writeFileSync(join(folder, 'broken.json'), '{"resourceType":')
    const dangling = ['l1', 'l2'].map(
      (id) => `{"resourceType":"Location","id":"${id}","managingOrganization":{"reference":"Organization?name=X"}}`,
    )
    writeFileSync(join(folder, 'dangling.ndjson'), dangling.join('\n'))
    writeFileSync(join(folder, 'escape.json'), '{"resourceType":"Basic","id":"\\u001b[31mred","code":{"text":"x"}}')
    const list = join(newFolder(), 'failures')
    const { code, err } = await runFhir('load', folder, '--to', server.base, '--failures', list)
    expect(code).toBe(1)
    expect(err).toContain('dangling.ndjson:1 Location/l1: Organization?name=X matches nothing (and 1 more of the file)')
    const [first] = readFileSync(list, 'utf8')
      .split('\n')
      .filter((line) => line.includes('Location/l2'))
    expect(JSON.parse(first!)).toEqual({
      place: join(folder, 'dangling.ndjson:2'),
      key: 'Location/l2',
      reason: 'Organization?name=X matches nothing',
    })
    expect(err).toContain('wrong.ndjson:2 Basic/bad: 400')
    expect(err).toContain('wrong.ndjson:3: The body is not valid JSON')
    expect(err).toContain('code is required at Basic')
    expect(err).toContain('broken.json')
    expect(err).toContain('escape.json Basic/ [31mred: 400')
    expect(err).toContain('6 failed')
    expect((await fetchJson(`${server.base}/Basic/ok2`)).id).toBe('ok2')
    await server.stop()
  })
  it('reports an unreachable server, and first a failures file that cannot be written', async () => {
    const folder = newFolder()
    const file = join(folder, 'one.json')
    writeFileSync(file, '{"resourceType":"Patient","id":"p","active":true}')
    for (const [failures, reason] of [
      [join(folder, '.', 'one.json'), 'is to be loaded: write the failures elsewhere'],
      [join(folder, 'nowhere', 'f'), 'cannot be written (ENOENT)'],
    ] as const)
      expect(await runFhir('load', folder, '--failures', failures)).toEqual({ code: 1, out: '', err: `fhir: ${failures} ${reason}\n` })
    expect(readFileSync(file, 'utf8')).toContain('Patient')
    const { code, err } = await runFhir('load', file, '--to', `http://127.0.0.1:${await freePort()}/fhir`)
    expect([code, err]).toEqual([1, expect.stringContaining('cannot be reached (ECONNREFUSED)')])
  })
  it('reports once that an address is not a FHIR base, even if it answers 200', async () => {
    const folder = newFolder()
    for (const id of ['p', 'q']) writeFileSync(join(folder, `${id}.json`), `{"resourceType":"Patient","id":"${id}","active":true}`)
    const site = createHttpServer((_, response) => response.end('<html>Welcome</html>')).listen(0, '127.0.0.1')
    await once(site, 'listening')
    const server = await startOpenServer('--memory')
    const elsewhere = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    for (const [base, status] of [
      [server.base.replace('/fhir', '/fihr'), 404],
      [elsewhere, 200],
    ] as const)
      expect(await runFhir('load', folder, '--to', base)).toEqual({
        code: 1,
        out: '',
        err: `fhir: ${base} is no FHIR base: ${base}/metadata answers ${status}, and no CapabilityStatement\n`,
      })
    site.close()
    await server.stop()
  })
})
