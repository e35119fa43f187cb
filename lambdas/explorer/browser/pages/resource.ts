/** One resource: its elements, its JSON, an editor, the number of references to it, and the issues of its validation. */
import { h } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { IncomingReferences } from '../components/incoming-references.ts'
import { JsonView } from '../components/json-view.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { Issues, Problem } from '../components/problem.ts'
import { useTask } from '../components/task.ts'
import { Elements, Value } from '../datatypes/value.ts'
import { type Draft, draftOf, setDraft } from '../draft.ts'
import { type Answer, ask, noted, read } from '../http.ts'
import { divide } from '../issue-places.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
import { issueLineIn, issuePlaceIn, prettyText } from '../json-text.ts'
import { go, linkTo } from '../place.ts'
import { seenAs } from '../see-as.ts'
import { tenant } from '../session.ts'

type Props = { readonly type: string; readonly id: string; readonly versionId?: string }

export function ResourcePage({ type, id, versionId }: Props) {
  const path = `/${type}/${id}${versionId === undefined ? '' : `/_history/${versionId}`}`
  const [loaded, retry] = useLoaded(() => read(path), `${path} ${tenant.value}`)
  const [others, setOthers] = useState<readonly Answer[]>([])
  const answers = [...answersOf(loaded, (answer) => answer), ...others]
  const add = (answer: Answer) => setOthers((before) => [...before, answer])
  return h(
    Frame,
    { title: `${type}/${decodeURIComponent(id)}`, answers, actions: h(Links, { type, id }) },
    h(Show<Answer>, { loaded, retry, show: (answer) => h(Resource, { key: path, answer, add, reload: retry }) }),
  )
}

function Links({ type, id }: Props) {
  const path = `/${type}/${id}`
  return h(
    'nav',
    { class: 'links', 'aria-label': 'About this resource' },
    h('a', { href: linkTo(`/${type}`) }, `All ${type} resources`),
    type === 'Patient' && h('a', { href: linkTo(`${path}/chart`) }, 'Chart'),
    type === 'Patient' && h('a', { href: linkTo(`${path}/member`) }, 'Member'),
    h('a', { href: linkTo(`${path}/_history`) }, 'History'),
  )
}

type ResourceProps = { readonly answer: Answer; readonly add: (answer: Answer) => void; readonly reload: () => void }
type Tab = 'elements' | 'json' | 'edit'

function Resource({ answer, add, reload }: ResourceProps) {
  const resource = isTree(answer.body) ? answer.body : {}
  const path = `/${resource.resourceType}/${resource.id}`
  const [tab, setTab] = useState<Tab>(draftOf(path) === undefined ? 'elements' : 'edit')
  const [issues, setIssues] = useState<readonly Tree[] | undefined>(undefined)
  const { marks, others } = useMemo(() => divide(issues ?? [], resource, HIDDEN[tab]), [issues, tab])
  const showWritten = () => {
    setTab('elements')
    reload()
  }
  const meta = isTree(resource.meta) ? resource.meta : {}
  return h(
    'div',
    null,
    h(
      'p',
      { class: 'facts' },
      h('span', null, `Version ${textOf(meta.versionId) ?? '?'}`),
      h('span', null, 'updated ', h(Value, { value: meta.lastUpdated })),
    ),
    h(
      'div',
      { class: 'tabs', role: 'group', 'aria-label': 'Representation' },
      (['elements', 'json', 'edit'] as const).map((each) =>
        h(
          'button',
          {
            key: each,
            type: 'button',
            'aria-pressed': tab === each,
            disabled: each === 'edit' && seenAs.value !== undefined,
            onClick: () => setTab(each),
          },
          TABS[each],
        ),
      ),
    ),
    h(Findings, { resource, add, issues, setIssues, others: tab === 'edit' ? (issues ?? []) : others }),
    tab === 'elements' && h(Elements, { tree: resource, skip: HIDDEN.elements, marks }),
    tab === 'json' && h(JsonView, { value: resource, marks }),
    tab === 'edit' && h(Editor, { resource, answer, add, done: showWritten }),
    h(IncomingReferences, { type: String(resource.resourceType), id: String(resource.id), add }),
  )
}

const TABS: Readonly<Record<Tab, string>> = { elements: 'Elements', json: 'JSON', edit: 'Edit' }

/** Elements that a tab does not show. Their issues stand in the list above the tab. */
const HIDDEN: Readonly<Record<Tab, readonly string[]>> = { elements: ['resourceType', 'id', 'meta'], json: [], edit: [] }

type EditorProps = { readonly resource: Tree; readonly answer: Answer; readonly add: (answer: Answer) => void; readonly done: () => void }

/**
 * Editor of the JSON text. It sends If-Match, so the server rejects a write if another one came first. The issues of a refused write lead to
 * their lines in the text.
 */
function Editor({ resource, answer, add, done }: EditorProps) {
  const path = `/${resource.resourceType}/${resource.id}`
  const [{ text, etag }, setEdited] = useState<Pick<Draft, 'text' | 'etag'>>(
    () => draftOf(path) ?? { text: prettyText(answer.text), etag: answer.headers.etag },
  )
  // Before the browser paints: the saved resource may be there by then, and would open with the draft.
  useLayoutEffect(() => () => setDraft(undefined), [])
  const edit = (event: Event) => {
    const edited = { text: (event.currentTarget as HTMLTextAreaElement).value, etag }
    setEdited(edited)
    setDraft({ path, ...edited })
  }
  const { error, isBusy, run } = useTask()
  const area = useRef<HTMLTextAreaElement>(null)
  // The issues are about the text that was sent. A person may have changed it since.
  const placeOf = useMemo(() => issuePlaceIn(text), [error])
  const selectorOf = (issue: Tree) => (placeOf(issue) === undefined ? undefined : () => selectLine(area.current, issueLineIn(text, issue)))
  const guard = etag === undefined ? {} : { 'if-match': etag }
  const save = async () => {
    await noted(ask({ method: 'PUT', path, headers: { ...guard, 'content-type': 'application/fhir+json' }, body: text }), add)
    done()
  }
  const remove = async () => {
    await noted(ask({ method: 'DELETE', path, headers: guard }), add)
    go(`/${resource.resourceType}`)
  }
  return h(
    'div',
    { class: 'editor' },
    h(
      'label',
      null,
      'JSON of the resource',
      h('textarea', {
        ref: area,
        rows: 24,
        spellcheck: false,
        value: text,
        onInput: edit,
      }),
    ),
    error !== undefined && h(Problem, { error, selectorOf }),
    h(
      'p',
      { class: 'buttons' },
      h('button', { type: 'button', disabled: isBusy, onClick: () => run(save) }, 'Save'),
      h(
        'button',
        { type: 'button', class: 'danger', disabled: isBusy, onClick: () => confirm(`Delete ${path.slice(1)}?`) && run(remove) },
        'Delete',
      ),
    ),
  )
}

/** Selects a line of the text, and scrolls to it. Chromium scrolls to the cursor only while it gives the field the focus. */
function selectLine(area: HTMLTextAreaElement | null, line: readonly [from: number, to: number] | undefined): void {
  if (area === null || line === undefined) return
  area.setSelectionRange(line[0], line[0])
  area.blur()
  area.focus()
  area.setSelectionRange(...line)
}

type FindingsProps = Pick<ResourceProps, 'add'> & {
  readonly resource: Tree
  /** Undefined: the resource is not validated yet. */
  readonly issues: readonly Tree[] | undefined
  readonly setIssues: (issues: readonly Tree[]) => void
  /** Issues without a shown element. */
  readonly others: readonly Tree[]
}

/** Validates the resource with `$validate`, on request. */
function Findings({ resource, add, issues, setIssues, others }: FindingsProps) {
  const { error, isBusy, run } = useTask()
  const validate = async () => {
    const { body } = await noted(read(`/${resource.resourceType}/${resource.id}/$validate`), add)
    setIssues(treesOf(isTree(body) ? body.issue : undefined))
  }
  return h(
    'section',
    { class: 'findings', 'aria-label': 'Validation' },
    h(
      'p',
      { class: 'buttons' },
      h('button', { type: 'button', disabled: isBusy, onClick: () => run(validate) }, 'Validate'),
      h('span', { role: 'status' }, issues === undefined ? '' : placesText(issues.length, issues.length - others.length)),
    ),
    error !== undefined && h(Problem, { error }),
    others.length > 0 && h(Issues, { issues: others }),
  )
}

/** Returns the number of issues as a sentence. `placed`: how many stand beside their element. */
function placesText(all: number, placed: number): string {
  const count = all === 1 ? '1 issue' : `${all} issues`
  if (placed === 0) return `${count}.`
  return `${count}, ${placed === all ? 'beside the elements below' : `${placed} of them beside the elements below`}.`
}
