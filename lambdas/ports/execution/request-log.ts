/** Log with one record per request. Records hold no ids of resources, no names, no queries and no content. */
import type { CallSummary } from './call-times.ts'

/** All times are in milliseconds. */
export type RequestRecord = {
  /** Arrival of the request since 1970. */
  readonly at: number
  readonly requestId: string
  readonly interaction: string
  /** Resource type in the URL, if R4 has it. */
  readonly type?: string
  readonly status: number
  readonly duration: number
  /** Duration without the time that the request waited for dependencies. */
  readonly own: number
  readonly calls: CallSummary['calls']
  /** Bytes of the response before compression. Absent for a stream of unknown length. */
  readonly bytes?: number
}

export type RequestLog = (record: RequestRecord) => void
