/** Pages by address. The page of a FHIR resource, search or history has its FHIR address, below the explorer. */
import { type ComponentChild, h } from 'preact'
import { ChartPage } from './pages/chart.ts'
import { ExportsPage } from './pages/exports.ts'
import { FindPage } from './pages/find.ts'
import { HistoryPage } from './pages/history.ts'
import { HomePage } from './pages/home.ts'
import { MemberPage } from './pages/member.ts'
import { ParametersPage } from './pages/parameters.ts'
import { RequestsPage } from './pages/requests.ts'
import { ResourcePage } from './pages/resource.ts'
import { StatusPage } from './pages/status.ts'
import { TypePage } from './pages/type.ts'
import { UnknownPage } from './pages/unknown.ts'
import type { Place } from './place.ts'

const TYPE = /^[A-Z][A-Za-z]+$/
const ID = /^[A-Za-z0-9.%-]+$/

/** Returns the page at a place. */
export function pageAt({ path, query }: Place): ComponentChild {
  const [first = '', second, third, fourth, ...rest] = path.split('/').slice(1)
  if (rest.length > 0 || !isDecodable(path)) return h(UnknownPage, null)
  if (first === '') return query === '' ? h(HomePage, null) : h(TypePage, { path: '/', query, type: undefined })
  if (first === 'find' && second === undefined) return h(FindPage, { query })
  if (first === 'exports' && second === undefined) return h(ExportsPage, { query })
  if (first === 'requests' && second === undefined) return h(RequestsPage, null)
  if (first === 'status' && second === undefined) return h(StatusPage, null)
  if (first === 'parameters' && second === undefined) return h(ParametersPage, null)
  if (first === '_history' && second === undefined) return h(HistoryPage, { path, query })
  if (!TYPE.test(first)) return h(UnknownPage, null)
  if (second === undefined) return h(TypePage, { path, query, type: first })
  if (second === '_history' && third === undefined) return h(HistoryPage, { path, query, type: first })
  if (!ID.test(second)) return h(UnknownPage, null)
  if (third === undefined) return h(ResourcePage, { type: first, id: second })
  if (third === '_history' && fourth === undefined) return h(HistoryPage, { path, query, type: first, id: second })
  if (third === '_history' && fourth !== undefined) return h(ResourcePage, { type: first, id: second, versionId: fourth })
  if (first === 'Patient' && third === 'chart' && fourth === undefined) return h(ChartPage, { id: second })
  if (first === 'Patient' && third === 'member' && fourth === undefined) return h(MemberPage, { id: second })
  if (fourth === undefined && (third === '*' || TYPE.test(third)))
    return h(TypePage, { path, query, type: third === '*' ? undefined : third })
  return h(UnknownPage, null)
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
