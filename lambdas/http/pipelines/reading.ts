/** Steps that every pipeline has. Read, vread, history, metadata, reindex and requests without a route need no others. */
import type { Clock } from '../../ports/execution/clock.ts'
import type { AuditLog } from '../../ports/security/audit-log.ts'
import type { QueryRecorder } from '../audit-record.ts'
import type { Steps } from '../pipeline.ts'
import { type AllowedOrigins, allowOrigins } from '../steps/allow-origins.ts'
import { type AuthenticationParts, authenticate } from '../steps/authenticate.ts'
import { type CheckForwarded, checkHost } from '../steps/check-host.ts'
import { checkScope } from '../steps/check-scope.ts'
import { checkType } from '../steps/check-type.ts'
import { describeErrors } from '../steps/describe-errors.ts'
import type { TokenParts } from '../steps/index-token.ts'
import { levelResponseTime } from '../steps/level-time.ts'
import { negotiateFormat } from '../steps/negotiate-format.ts'
import { parsePreconditions } from '../steps/parse-preconditions.ts'
import { parsePreferences } from '../steps/parse-preferences.ts'
import { recordAudit } from '../steps/record-audit.ts'
import { redirectBrowsers } from '../steps/redirect-browsers.ts'
import { refuse } from '../steps/refuse.ts'
import { shapeBody } from '../steps/shape-body.ts'
import { writeResponse } from '../steps/write-response.ts'

/** Dependencies of the steps. */
export type StepParts = AuthenticationParts & {
  readonly audit: AuditLog
  /** Collects the names in search criteria for the audit record. Present in functions that accept criteria. */
  readonly recorder?: QueryRecorder
  readonly clock: Clock
  readonly origins: AllowedOrigins
  /** Whether requests are rejected unless Host and Origin are loopback addresses. */
  readonly loopbackOnly: boolean
  /** Rejects requests that a proxy forwards. Present in open mode only. */
  readonly checkForwarded?: CheckForwarded
  /** Whether the deployment has an explorer, to which browsers are redirected. Absent: it has none. */
  readonly hasExplorer?: boolean
  /** Receives errors that an operator must examine, with the request id. */
  readonly report: (error: unknown, requestId: string) => void
}

/** Dependencies of steps that read a body or wait for the index. */
export type BodyStepParts = StepParts & {
  /** Maximum bytes of a request body. A longer body is answered 413. */
  readonly maxBody: number
  readonly tokens: TokenParts
}

export const readingSteps = ({
  audit,
  recorder,
  clock,
  authenticator,
  publicRead,
  readTenant,
  origins,
  loopbackOnly,
  checkForwarded,
  hasExplorer = false,
  report,
}: StepParts): Steps => ({
  recordAudit: recordAudit(audit, clock, recorder),
  allowOrigins: allowOrigins(origins),
  writeResponse,
  levelTime: levelResponseTime(),
  describeErrors: describeErrors(report),
  checkHost: checkHost(loopbackOnly, checkForwarded),
  refuse,
  redirectBrowsers: redirectBrowsers(hasExplorer),
  negotiateFormat,
  authenticate: authenticate({ authenticator, publicRead, readTenant }),
  checkType,
  checkScope,
  parsePreferences,
  parsePreconditions,
  shapeBody,
})
