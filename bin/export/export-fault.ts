/** Failures of an export. */

/**
 * `refused`: the server rejects the export, or no longer has its job or files. `failed`: the server could not complete it, or its response
 * is unusable. `unreachable`: the server does not respond or stays busy. `mismatch`: a file differs from the manifest or cannot be written.
 */
export type ExportFaultKind = 'refused' | 'failed' | 'unreachable' | 'mismatch'

export class ExportFault extends Error {
  readonly kind: ExportFaultKind
  /** HTTP status of a refused kick-off; undefined for other failures. */
  readonly status: number | undefined

  constructor(kind: ExportFaultKind, message: string, { status, ...options }: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options)
    this.kind = kind
    this.status = status
  }
}
