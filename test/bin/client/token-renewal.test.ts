/** Loads that take longer than the lifetime of a token, with clocks that differ. */
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

/** Creates a token with the parts that the client reads. */
const tokenOf = (claims: object, name: string): string => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${name}`

describe('A token', () => {
  /** Returns the name of the token sent at each of `times`, in milliseconds. */
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
    ['a minute, by a wrong clock', { iat: 10 ** 9, exp: 10 ** 9 + 60 }, [0, 29_000, 30_000, 59_000, 60_000], ['1', '1', '2', '2', '3']],
    ['unknown', { exp: 'soon' }, [0, 1, 2], ['1', '2', '3']],
  ])('is requested again before it expires: lifetime %s', async (_, claims, times, names) => {
    expect(await sent(times, claims)).toEqual(names)
  })

  it('is requested again after a failure, and only once for concurrent callers', async () => {
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

describe('A load that takes hours', () => {
  const FILES = 6
  /** Milliseconds by which the server clock is ahead of the test. */
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

  /** Loads files and advances the server clock by half an hour after each. `now`: clock of the client. */
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

  it('continues with tokens that it renews before they expire', async () => {
    const { asked, failures } = await loadedBy(() => ahead)
    expect([failures, asked]).toEqual([[], FILES / 2])
  })

  it('fails without renewal once its first token has expired', async () => {
    const { asked, failures } = await loadedBy(() => 0)
    expect([failures.map((reason) => reason.slice(0, 3)), asked]).toEqual([Array(FILES - 2).fill('401'), 1])
  })
})
