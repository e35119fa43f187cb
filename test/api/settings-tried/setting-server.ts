/** A real server with a setting, who asks it, and what a trial of a setting is. */
import { readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { uptime } from 'node:os'
import { fetchDocument } from '../../../lambdas/adapters/https/fetch-document.ts'
import { addressFilterOf } from '../../../lambdas/adapters/https/private-hosts.ts'
import type { RequestRecord } from '../../../lambdas/ports/execution/request-log.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import { addClient, type NewClient, openAdministration } from '../../../lambdas/runtime/control/administration.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../../lambdas/runtime/embedded/server.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { clientOf, type TestClient, type Tree } from '../server.ts'

/** The setting's value, what then holds, and the proof. */
export type SettingTrial = readonly [value: string, holds: string, proof: (value: string) => Promise<void>]

export type SettingsServer = TestClient & {
  readonly folder: string
  readonly embedded: EmbeddedServer
  readonly reports: readonly unknown[]
  /** Records of the request log. */
  readonly logged: readonly RequestRecord[]
  /** By how much this server's clocks are ahead, milliseconds. */
  ahead: number
  /** As a client with this token, or without any. */
  readonly as: (token?: string) => TestClient
  /** The secret of a client that is registered so. */
  readonly register: (id: string, more?: Partial<NewClient>) => Promise<string>
  readonly token: (form: Readonly<Record<string, string>>) => Promise<{ readonly status: number; readonly body: Tree }>
}

/** What a client says to get a token for itself. */
export const clientCredentialsForm = (id: string, secret: string): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_id: id,
  client_secret: secret,
})

const CERTIFICATE = readFileSync(new URL('../../fixtures/tls/localhost.crt', import.meta.url), 'utf8')

type Settings = Readonly<Record<string, string>>

/** Runs `proof` with a server in a folder of its own, asked with an administrator's token, and closes it. */
export async function withSettings(
  settings: Settings,
  proof: (server: SettingsServer) => Promise<void>,
  { baseUrl = 'http://127.0.0.1/fhir', folder = newFolder(), ahead = 0 } = {},
): Promise<void> {
  const reports: unknown[] = []
  const logged: RequestRecord[] = []
  const config = readConfig(settings)
  const times = {
    wall: () => Date.now() + server.ahead,
    steady: () => performance.now() + server.ahead,
    sinceBoot: () => uptime() * 1_000 + server.ahead,
  }
  const server = { ahead } as SettingsServer
  const embedded = await openEmbeddedServer({
    ...{ config, baseUrl, dataFolder: folder, times, report: (error) => void reports.push(error) },
    logRequest: (record) => void logged.push(record),
    fetchDocument: fetchDocument({ ca: CERTIFICATE, mayReach: addressFilterOf(config.privateHosts) }),
  })
  try {
    await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
    const base = `http://127.0.0.1:${(embedded.server.address() as AddressInfo).port}/fhir`
    const as = (token?: string): TestClient =>
      clientOf(
        () => base,
        () => token,
      )
    const token = config.access === 'open' ? undefined : await embedded.issue({ isAdministrator: true })
    await proof(Object.assign(server, as(token), { folder, embedded, reports, logged, as, ...accessAt(base, folder) }))
  } finally {
    await embedded.close()
  }
}

const accessAt = (base: string, folder: string): Pick<SettingsServer, 'register' | 'token'> => ({
  async register(id, more = {}) {
    const ports = await openAdministration(folder, { isNew: false })
    const client = { id, name: id, authentication: 'secret', scopes: ['system/*.cruds'], redirectUris: [], tenants: ['default'] } as const
    const { secret = '' } = await addClient(ports, { ...client, mayIntrospect: false, ...more })
    await ports.close()
    return secret
  },
  async token(form) {
    const response = await fetch(`${base}/auth/token`, { method: 'POST', body: new URLSearchParams(form) })
    return { status: response.status, body: await response.json() }
  },
})

/** During `work` whoever writes a file waits for `before` first. */
export async function delayFileWrites<Result>(before: () => Promise<void>, work: () => Promise<Result>): Promise<Result> {
  const probe = await open('/dev/null', 'w')
  const handles = Object.getPrototypeOf(probe) as { write: (...args: readonly unknown[]) => Promise<unknown> }
  const { write } = handles
  await probe.close()
  handles.write = async function (this: FileHandle, ...args) {
    await before()
    return write.apply(this, [...args])
  }
  try {
    return await work()
  } finally {
    handles.write = write
  }
}
