/**
 * Access checks of a write. The check of the current version comes before any error that could disclose it. A second check is for the new
 * version.
 */
import { type Judge, maySee, mayWrite } from '../../access/judge.ts'
import { PARTNER_MARK_SYSTEM } from '../../access/partner-mark.ts'
import { isWholeTenant } from '../../access/rules.ts'
import type { Letter } from '../../access/scopes.ts'
import type { DamagedVersion, Identifier, ResourceVersion, Write } from '../../ports/store/resource-store.ts'
import { forbidden } from '../forbidden.ts'
import type { Awaitable, FhirRequest, FhirResponse, Ports } from '../interaction.ts'

/**
 * Current version that a write follows. A write may also replace a damaged version. `identifiers`: those of the resource, if the body was
 * dropped.
 */
export type Head = (ResourceVersion & { readonly identifiers?: readonly Identifier[] }) | DamagedVersion

const LETTERS: Readonly<Record<string, Letter>> = { create: 'c', update: 'u', patch: 'u', delete: 'd' }

export type JudgePorts = Pick<Ports, 'heads' | 'expressions'>

const judgeOf = ({ access, reading }: FhirRequest, { heads, expressions }: JudgePorts): Judge => ({
  access,
  reading,
  expressions: () => expressions,
  current: async (key) => {
    const [head] = await heads([key])
    return head === undefined || 'damage' in head ? undefined : head
  },
})

/** Whether the access allows every write of this kind, so that versions need no check. */
export const isWriteUnrestricted = ({ access, interaction }: FhirRequest): boolean => isWholeTenant(access, LETTERS[interaction]!)

/**
 * Returns the current version, or throws FhirError 403 if the request may not change it. For a patch that may not even read it, returns
 * undefined, as if the resource were missing.
 */
export const authorizeHead = (request: FhirRequest, head: Head | undefined, ports: JudgePorts): Awaitable<Head | undefined> =>
  head === undefined || isWriteUnrestricted(request) ? head : judgedHead(request, head, ports)

async function judgedHead(request: FhirRequest, head: Head, ports: JudgePorts): Promise<Head | undefined> {
  const judge = judgeOf(request, ports)
  // Judge a damaged version without compartments, because they are unknown.
  const judged = 'damage' in head ? { ...head, lastUpdated: 0, compartments: [], body: NO_BODY } : head
  if (!isMarked(judged) && (await mayWrite(judge, LETTERS[request.interaction]!, judged))) return head
  // guard: patch-needs-read-access
  if (request.interaction === 'patch' && !(await maySee(judge, 'r', judged))) return undefined
  throw notYours(head)
}

const NO_BODY = new Uint8Array()

/** Throws FhirError 403 if the access does not allow the new version. */
export const authorizeWrite = (request: FhirRequest, write: Write, ports: JudgePorts): Awaitable<void> =>
  isWriteUnrestricted(request) ? undefined : judgedWrite(request, write, ports)

async function judgedWrite(request: FhirRequest, write: Write, ports: JudgePorts): Promise<void> {
  const version = { ...write, versionId: write.expected + 1 }
  // guard: group-of-partner-is-not-written
  if (isMarked(version)) throw notYours(write)
  if (!(await mayWrite(judgeOf(request, ports), LETTERS[request.interaction]!, version))) throw notYours(write)
}

/**
 * Whether the version is a Group that names a partner by its mark. The partner may export its members, so only the server, and callers that may
 * write everything, write it.
 */
const isMarked = ({ type, body }: Pick<ResourceVersion, 'type' | 'body'>): boolean =>
  type === 'Group' && Buffer.from(body).toString('latin1').toLowerCase().includes(PARTNER_MARK_SYSTEM)

const notYours = ({ type, id }: { readonly type: string; readonly id: string }): Error =>
  forbidden(`The scopes of this request do not allow to write ${type}/${id} as it is, or as it would be`)

/** Whether the request may read the version, or find it. */
export const isVisibleTo = (request: FhirRequest, version: ResourceVersion, ports: JudgePorts): Awaitable<boolean> =>
  isWholeTenant(request.access, 'r') || isJudgedShown(judgeOf(request, ports), version)

const isJudgedShown = async (judge: Judge, version: ResourceVersion): Promise<boolean> =>
  (await maySee(judge, 'r', version)) || maySee(judge, 's', version)

/**
 * Returns the response, without resource and warnings if the request may not read the version. Use it for resources that the client did not
 * send.
 */
export const redactResponse = (
  request: FhirRequest,
  version: Omit<ResourceVersion, 'versionId'>,
  response: FhirResponse,
  ports: JudgePorts,
): Awaitable<FhirResponse> =>
  isWholeTenant(request.access, 'r') ? response : readable(request, { ...version, versionId: 0 }, response, ports)

async function readable(request: FhirRequest, version: ResourceVersion, response: FhirResponse, ports: JudgePorts): Promise<FhirResponse> {
  // guard: hidden-version-is-not-returned
  if (await maySee(judgeOf(request, ports), 'r', version)) return response
  const { body: _, warnings: __, ...rest } = response
  return rest
}
