/**
 * Starts scheduled exports. It sends the kick-off request that the client would send, with the token that client_credentials would issue.
 */
import { createHash } from 'node:crypto'
import type { ClientAuth } from '../../access/claims.ts'
import { accessOfToken } from '../../access/token-access.ts'
import type { VerifiedToken } from '../../access/verification/verified-token.ts'
import type { AuthChoices, AuthPorts } from '../../auth/endpoint.ts'
import { grantToClient } from '../../auth/grants/client-scopes.ts'
import { readJob } from '../../export/job/job-transitions.ts'
import {
  ensureRun,
  isEndedByRestore,
  nextSinceOf,
  type ScheduledExport,
  type ScheduledRun,
  type ScheduleEvent,
  updateRun,
} from '../../export/schedules/schedules.ts'
import { toInstant } from '../../fhir/version.ts'
import type { Site } from '../../http/exchange.ts'
import type { Steps } from '../../http/pipeline.ts'
import { server } from '../../http/server.ts'
import type { Authenticator } from '../../http/steps/authenticate.ts'
import { type KickOffPorts, startExport } from '../../interactions/export/kick-off.ts'
import type { Client } from '../../ports/rows/clients.ts'

export type SchedulePorts = Pick<AuthPorts, 'clients' | 'isDecidable'> &
  KickOffPorts & {
    readonly choices: AuthChoices
    /** Returns the steps of a kick-off request, with the given authenticator. */
    readonly steps: (authenticator: Authenticator) => Steps
    readonly site: Site
  }

/**
 * Returns the handler of schedule events. It starts one job per instant, even if the event arrives several times. Throws an error if the
 * job cannot start, so that the event can be sent again.
 */
export const scheduledExportStarter =
  (ports: SchedulePorts) =>
  async ({ schedule, time, only }: ScheduleEvent): Promise<void> => {
    const { clock, exports } = ports
    if (only !== undefined && !(await isEndedByRestore(exports.rows, schedule.name))) return
    const at = Date.parse(time)
    const run = await ensureRun(exports.rows, schedule.name, { at, now: clock.now() })
    if (run === undefined || (run.state !== 'called' && run.state !== 'refused')) return
    try {
      await begin(ports, schedule, run)
    } catch (error) {
      await updateRun(exports.rows, schedule.name, at, { state: 'refused' })
      throw new Error(`The export ${schedule.name} cannot be begun: ${(error as Error).message}`, { cause: error })
    }
  }

async function begin(ports: SchedulePorts, schedule: ScheduledExport, { at, job }: ScheduledRun): Promise<void> {
  const { rows } = ports.exports
  // An earlier attempt may have started the job, but died before it recorded that.
  if ((await readJob(rows, job)) === undefined) {
    const client = await ports.clients.get(schedule.client)
    if (client === undefined) throw new Error(`the client "${schedule.client}" is not registered`)
    const token = await tokenOf(ports, schedule, client)
    const of = whatIsAsked(schedule, client, token)
    await updateRun(rows, schedule.name, at, { of, ...(schedule.bucket === undefined ? {} : { bucket: schedule.bucket }) })
    const since = schedule.sinceLast === true ? await nextSinceOf(rows, schedule.name, of) : undefined
    await kickOff(ports, { job, token, ...targetOf(schedule, since) })
  }
  await updateRun(rows, schedule.name, at, { state: 'begun' })
}

const PROVED: Readonly<Record<Client['authentication']['kind'], ClientAuth>> = {
  secret: 'secret',
  keys: 'assertion',
  uri: 'assertion',
  public: 'none',
}

/**
 * Returns a token with all registered scopes of the client, for the tenant of the schedule. Throws an Error if the client has no access to
 * that tenant.
 */
async function tokenOf(ports: SchedulePorts, { tenant }: ScheduledExport, client: Client): Promise<VerifiedToken> {
  const { scopes, tenants, patient } = await grantToClient(ports, client)
  if (!tenants.includes('*') && !tenants.includes(tenant)) throw new Error(`the client "${client.id}" is not of the tenant "${tenant}"`)
  return {
    ...{ tenant, client: client.id, subject: client.id, scopes, issuer: ports.site.baseUrl, expires: Number.POSITIVE_INFINITY },
    clientAuth: PROVED[client.authentication.kind],
    patientScopesWithoutContext: ports.choices.patientScopesWithoutContext,
    ...(patient === undefined ? {} : { patient }),
    // guard: scheduled-export-of-partner
    ...(client.partner === undefined ? {} : { partner: client.partner }),
  }
}

/**
 * Returns a digest of everything that determines the content of the export. If it changes, the next run does not continue from the previous
 * one. So a client that is registered again, another bucket and another restore generation each start from the beginning.
 */
function whatIsAsked({ level, group, types, bucket, epoch }: ScheduledExport, { id, registeredAt }: Client, token: VerifiedToken): string {
  const all = [
    id,
    registeredAt,
    token.tenant,
    level,
    group,
    types?.toSorted(),
    accessOfToken(token, { baseUrl: token.issuer }),
    ...(bucket === undefined ? [] : [bucket]),
    ...(epoch === undefined ? [] : [epoch]),
  ]
  return createHash('sha256').update(JSON.stringify(all)).digest('base64url')
}

const PATHS = { system: () => '/$export', patient: () => '/Patient/$export', group: (id: string) => `/Group/${id}/$export` }

function targetOf({ level, group = '', types }: ScheduledExport, since: number | undefined): Pick<Asked, 'path' | 'query'> {
  const query = new URLSearchParams({
    ...(types === undefined ? {} : { _type: types.join() }),
    ...(since === undefined ? {} : { _since: toInstant(since) }),
  })
  return { path: PATHS[level](group), query: String(query) }
}

type Asked = { readonly job: string; readonly token: VerifiedToken; readonly path: string; readonly query: string }

/** Sends the kick-off through all steps of a request, so that it is checked and recorded like one of a client. */
async function kickOff(ports: SchedulePorts, { job, token, path, query }: Asked): Promise<void> {
  const { clock, steps, site } = ports
  const start = startExport({ ...ports, clock: { now: () => clock.now(), newId: () => job } })
  const serve = server({ interactions: { export: start }, steps: steps(() => token), site })
  const request = { method: 'GET', path, query, headers: HEADERS, body: new Uint8Array() }
  const { status, body = [] } = await serve(request, clock.newId())
  if (status !== 202) throw new Error(`${status} ${Buffer.concat(body)}`)
}

const HEADERS = { accept: 'application/fhir+json', prefer: 'respond-async' }
