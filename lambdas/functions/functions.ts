/**
 * The deployed functions, as data: the file of this folder that is each one's entry point, and the ports it is given. Its bundle holds their
 * adapters, its role may use what they stand on, its environment names it. Drives the stacks; imports types only.
 */
import type { InteractionCode } from '../interactions/routes.ts'

/**
 * resources: reads versions. writer: also writes them. settler: finishes transactions. index: searches. documents: writes to the index.
 * rebuilding: makes, swaps and removes indices. blobs: kept queries and lists of tokens. progress: reads what is defined and built.
 * definitions: also changes it. workflow: starts rebuilds. seal: reads the key of cursors and tokens. audit: writes audit records.
 * verification: reads what proves access tokens: public keys, and what was revoked.
 */
export type PortName =
  | 'resources'
  | 'writer'
  | 'settler'
  | 'index'
  | 'documents'
  | 'rebuilding'
  | 'blobs'
  | 'progress'
  | 'definitions'
  | 'workflow'
  | 'seal'
  | 'audit'
  | 'verification'

export type HttpFunction =
  | 'read'
  | 'vread'
  | 'history'
  | 'search'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'bundle'
  | 'capabilities'
  | 'reindex'
  | 'reindex-status'
  | 'fallback'

/** `indexer` and `settle-transactions` follow the table's stream, the latter also a schedule; `migrate` runs once in every deployment. */
export type Worker = 'indexer' | 'settle-transactions' | 'rebuild-step' | 'migrate'

export type FunctionName = HttpFunction | Worker

/** Of every function that answers who has to say who it is. */
const ASKED: readonly PortName[] = ['verification', 'audit']
const WRITING: readonly PortName[] = ['resources', 'writer', 'index', 'blobs', 'seal', 'progress', ...ASKED]

export const FUNCTIONS: Readonly<Record<FunctionName, readonly PortName[]>> = {
  read: ['resources', 'progress', ...ASKED],
  vread: ['resources', ...ASKED],
  history: ['resources', 'seal', ...ASKED],
  search: ['resources', 'index', 'blobs', 'seal', 'progress', ...ASKED],
  create: WRITING,
  update: WRITING,
  patch: WRITING,
  delete: WRITING,
  bundle: WRITING,
  capabilities: ['progress', ...ASKED],
  reindex: ['definitions', 'workflow', ...ASKED],
  'reindex-status': ['progress', ...ASKED],
  fallback: ['audit'],
  indexer: ['documents', 'definitions', 'workflow'],
  'settle-transactions': ['settler', 'definitions', 'workflow'],
  'rebuild-step': ['resources', 'rebuilding', 'definitions'],
  migrate: ['definitions', 'workflow', 'seal'],
}

/** The function that answers an interaction: one for each, but the kinds of history together, and those of search. */
export function functionOf(interaction: InteractionCode): HttpFunction {
  if (interaction === 'history-instance' || interaction === 'history-type' || interaction === 'history-system') return 'history'
  if (interaction === 'search-type' || interaction === 'search-system') return 'search'
  return interaction
}
