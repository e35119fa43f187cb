/** A load that takes longer than a token lives, and clocks that differ. */
import { writeFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { requestClientToken } from '../../../bin/client/client-token.ts'
import { renewingAuthorizer } from '../../../bin/client/token-renewal.ts'
import { findSourceFiles } from '../../../bin/load/file-reader.ts'
import { load } from '../../../bin/load/load.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import { addClient, openAdministration } from '../../../lambdas/runtime/control/administration.ts'
import { openEmbeddedServer } from '../../../lambdas/runtime/embedded/server.ts'
import { freePort } from '../../engines/engine.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { failOnReport } from '../../fixtures/never-reports.ts'

const MINUTE = 60_000

/** A token as far as it is read. */
const tokenOf = (claims: object, name: string): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${name}`

describe('A token', () => {
  /** Which of the tokens is sent at each of these times (ms). */
  async function sent(times: readonly number[], claims: object): Promise<readonly string[]> {
    let [now, made] = [0, 0]
    const authorize = renewingAuthorizer(
      async () => tokenOf(claims, String(++made)),
      () => now,
    )
    const names: string[] = []
    for (now of times) names.push((await authorize()).authorization!.split('.')[2]!)
    return names
  }

  it.each([
    ['an hour', { iat: 1_000, exp: 4_600 }, [0, 58 * MINUTE, 59 * MINUTE, 60 * MINUTE], ['1', '1', '2', '2']],
    ['a minute, by a clock far off', { iat: 10 ** 9, exp: 10 ** 9 + 60 }, [0, 29_000, 30_000, 59_000, 60_000], ['1', '1', '2', '2', '3']],
    ['nobody knows how long', { exp: 'soon' }, [0, 1, 2], ['1', '2', '3']],
  ])('of %s is asked for before its end', async (_, claims, times, names) => {
    expect(await sent(times, claims)).toEqual(names)
  })

  it('is asked for again where it could not be had, and once by many at a time', async () => {
    let asked = 0
    const authorize = renewingAuthorizer(async () => {
      if (++asked === 1) throw new Error('not now')
      return tokenOf({ iat: 0, exp: 3_600 }, 'x')
    })
    await expect(authorize()).rejects.toThrow('not now')
    await Promise.all([authorize(), authorize(), authorize()])
    expect(asked).toBe(2)
  })
})

describe('A load of hours', () => {
  const FILES = 6
  /** By how much this machine's clocks are ahead of the test, milliseconds. */
  let ahead = 0
  let base: string
  let secret: string

  beforeAll(async () => {
    const data = newFolder()
    base = `http://127.0.0.1:${await freePort()}/fhir`
    const ports = await openAdministration(data, { isNew: true })
    const client = {
      id: 'loading',
      name: 'loading',
      scopes: ['system/*.cruds'],
      redirectUris: [],
      tenants: ['default'],
      mayIntrospect: false,
    }
    secret = (await addClient(ports, { ...client, authentication: 'secret' })).secret!
    await ports.close()
    const embedded = await openEmbeddedServer({
      ...{ config: readConfig({ FHIR_ACCESS: 'token' }), baseUrl: base, dataFolder: data },
      times: { wall: () => Date.now() + ahead, steady: () => performance.now() + ahead, sinceBoot: () => uptime() * 1000 + ahead },
      report: failOnReport,
    })
    runAtEnd(() => embedded.close())
    await new Promise<void>((resolve) => embedded.server.listen(Number(new URL(base).port), '127.0.0.1', resolve))
  })

  /** Half an hour passes with each file. `now`: of who loads. */
  async function loadedBy(now: () => number) {
    let asked = 0
    const authorize = renewingAuthorizer(() => {
      asked++
      return requestClientToken(base, 'loading', secret)
    }, now)
    const folder = newFolder()
    const resources = Array.from({ length: FILES }, (_, i) => ({ resourceType: 'Basic', id: `b${i}`, code: { text: 'x' } }))
    const sources = resources.map((resource) => {
      writeFileSync(join(folder, `${resource.id}.json`), JSON.stringify(resource))
      return join(folder, `${resource.id}.json`)
    })
    const failures: string[] = []
    for (const source of sources) {
      const result = await load(findSourceFiles([source]), { base, authorize, concurrency: 1, onProgress: () => undefined })
      failures.push(...result.failures.map(({ reason }) => reason))
      ahead += 30 * MINUTE
    }
    return { asked, failures }
  }

  it('goes on with tokens it asks for, by a client of another server whose clock is another too', async () => {
    const { asked, failures } = await loadedBy(() => ahead)
    expect([failures, asked]).toEqual([[], FILES / 2])
  })

  it('would fail with the one it began with', async () => {
    const { asked, failures } = await loadedBy(() => 0)
    expect([failures.map((reason) => reason.slice(0, 3)), asked]).toEqual([Array(FILES - 2).fill('401'), 1])
  })
})
