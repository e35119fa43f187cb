/** One resource: its elements, its JSON, an editor, the number of references to it, and the issues of its validation. */
import { h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Frame } from '../components/frame.ts'
import { IncomingReferences } from '../components/incoming-references.ts'
import { JsonView } from '../components/json-view.ts'
import { answersOf, Show, useLoaded } from '../components/loaded.ts'
import { Issues, Problem } from '../components/problem.ts'
import { useTask } from '../components/task.ts'
import { Elements, Value } from '../datatypes/value.ts'
import { type Draft, draftOf, setDraft } from '../draft.ts'
import { type Answer, ask, read } from '../http.ts'
import { isTree, type Tree, textOf, treesOf } from '../json.ts'
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
    h('a', { href: linkTo(`/${type}`) }, `All ${type}`),
    type === 'Patient' && h('a', { href: linkTo(`${path}/chart`) }, 'Chart'),
    type === 'Patient' && h('a', { href: linkTo(`${path}/member`) }, 'Member'),
    h('a', { href: linkTo(`${path}/_history`) }, 'History'),
  )
}

type ResourceProps = { readonly answer: Answer; readonly add: (answer: Answer) => void; readonly reload: () => void }
type View = 'elements' | 'json' | 'edit'

function Resource({ answer, add, reload }: ResourceProps) {
  const resource = isTree(answer.body) ? answer.body : {}
  const path = `/${resource.resourceType}/${resource.id}`
  const [view, setView] = useState<View>(draftOf(path) === undefined ? 'elements' : 'edit')
  const showWritten = () => {
    setView('elements')
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
      { class: 'tabs', role: 'group', 'aria-label': 'View' },
      (['elements', 'json', 'edit'] as const).map((each) =>
        h(
          'button',
          {
            key: each,
            type: 'button',
            'aria-pressed': view === each,
            disabled: each === 'edit' && seenAs.value !== undefined,
            onClick: () => setView(each),
          },
          TABS[each],
        ),
      ),
    ),
    view === 'elements' && h(Elements, { tree: resource, skip: ['resourceType', 'id', 'meta'] }),
    view === 'json' && h(JsonView, { value: resource }),
    view === 'edit' && h(Editor, { resource, answer, add, done: showWritten }),
    h(IncomingReferences, { type: String(resource.resourceType), id: String(resource.id), add }),
    h(Findings, { resource, add }),
  )
}

const TABS: Readonly<Record<View, string>> = { elements: 'Elements', json: 'JSON', edit: 'Edit' }

type EditorProps = { readonly resource: Tree; readonly answer: Answer; readonly add: (answer: Answer) => void; readonly done: () => void }

/** Editor of the JSON text. It sends If-Match, so the server rejects a write if another one came first. */
function Editor({ resource, answer, add, done }: EditorProps) {
  const path = `/${resource.resourceType}/${resource.id}`
  const [{ text, etag }, setEdited] = useState<Pick<Draft, 'text' | 'etag'>>(
    () => draftOf(path) ?? { text: prettyText(answer.text), etag: answer.headers.etag },
  )
  useEffect(() => () => setDraft(undefined), [])
  const edit = (event: Event) => {
    const edited = { text: (event.currentTarget as HTMLTextAreaElement).value, etag }
    setEdited(edited)
    setDraft({ path, ...edited })
  }
  const { error, isBusy, run } = useTask()
  const guard = etag === undefined ? {} : { 'if-match': etag }
  const save = async () => {
    add(await ask({ method: 'PUT', path, headers: { ...guard, 'content-type': 'application/fhir+json' }, body: text }))
    done()
  }
  const remove = async () => {
    add(await ask({ method: 'DELETE', path, headers: guard }))
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
        rows: 24,
        spellcheck: false,
        value: text,
        onInput: edit,
      }),
    ),
    error !== undefined && h(Problem, { error }),
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

/** Indents JSON without a change of its values. Numbers keep their decimals. */
function prettyText(text: string): string {
  const parts: string[] = []
  let indent = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '"') {
      const end = endOfString(text, i)
      parts.push(text.slice(i, end))
      i = end - 1
    } else if (char === '{' || char === '[') {
      indent += '  '
      parts.push(`${char}\n${indent}`)
    } else if (char === '}' || char === ']') {
      indent = indent.slice(2)
      parts.push(`\n${indent}${char}`)
    } else if (char === ',') parts.push(`,\n${indent}`)
    else if (char === ':') parts.push(': ')
    else if (!/\s/.test(char)) parts.push(char)
  }
  return parts.join('')
}

/** Returns the index after the string that begins at `start`. A regular expression would overflow its stack at some megabytes. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '"') return i + 1
  }
  return text.length
}

type FindingsProps = { readonly resource: Tree; readonly add: (answer: Answer) => void }

/** Issues that `$validate` finds in the resource, on request. */
function Findings({ resource, add }: FindingsProps) {
  const [issues, setIssues] = useState<readonly Tree[] | undefined>(undefined)
  const [error, setError] = useState<unknown>(undefined)
  const validate = () =>
    read(`/${resource.resourceType}/${resource.id}/$validate`).then((answer) => {
      add(answer)
      setIssues(treesOf(isTree(answer.body) ? answer.body.issue : undefined))
    }, setError)
  return h(
    'section',
    { class: 'findings', 'aria-label': 'Validation' },
    h('button', { type: 'button', onClick: () => void validate() }, 'Validate'),
    error !== undefined && h(Problem, { error }),
    issues !== undefined && h(Issues, { issues }),
  )
}
