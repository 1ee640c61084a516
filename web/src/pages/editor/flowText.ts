// A workflow as YAML: read with what is wrong and where, and changed by the form without touching the rest of it.
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { FlowStep } from '../flow/flowSteps';
import { stepsOfDefinition } from '../flow/flowSteps';
import type { Step } from '../../api/types';
import type { Translate } from '../../i18n';

export type Path = (string | number)[];

export interface Mistake {
    path: Path;
    message: string;
    line: number; // From 1.
}

export interface FlowText {
    document: Document;
    fields: Record<string, unknown>;
    readable: boolean; // It is YAML, and has fields.
    mistakes: Mistake[];
    lineOf: (path: Path) => number;
}

// "steps[2].after[0]", as the server names a place.
export function pathOf(text: string): Path {
    return [...text.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) =>
        index === undefined ? (name ?? '') : Number(index),
    );
}

// The line of what is there, or of the nearest around it.
function lineFinder(document: Document, lines: LineCounter): (path: Path) => number {
    return (path) => {
        for (let length = path.length; length > 0; --length) {
            const node: unknown = document.getIn(path.slice(0, length), true);
            if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
        }
        return 1;
    };
}

const isFields = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);

export function stepsOf(fields: Record<string, unknown>): Record<string, unknown>[] {
    return Array.isArray(fields.steps) ? fields.steps.filter(isFields) : [];
}

const namesBefore = (step: Record<string, unknown>): string[] =>
    (Array.isArray(step.after) ? step.after : []).filter((each): each is string => typeof each === 'string');

// A step that waits for itself by way of others; nothing if there is none.
function circleOf(steps: Record<string, unknown>[]): number | undefined {
    const after = new Map(steps.map((step) => [step.name, namesBefore(step)]));
    const done = new Set<unknown>();
    const reaches = (name: unknown, way: unknown[]): boolean => {
        if (way.includes(name)) return true;
        if (done.has(name)) return false;
        const found = (after.get(name) ?? []).some((before) => reaches(before, [...way, name]));
        if (!found) done.add(name);
        return found;
    };
    const index = steps.findIndex(({ name }) => reaches(name, []));
    return index < 0 ? undefined : index;
}

// What can be told at once, before the server is asked.
function ownMistakes(fields: Record<string, unknown>, t: Translate): { path: Path; message: string }[] {
    const found: { path: Path; message: string }[] = [];
    if (typeof fields.name !== 'string' || !fields.name.trim()) {
        found.push({ path: ['name'], message: t('editor.noName') });
    }
    if (!Array.isArray(fields.steps)) return [...found, { path: ['steps'], message: t('editor.noSteps') }];
    const names = fields.steps.map((step) => (isFields(step) ? step.name : undefined));
    fields.steps.forEach((step: unknown, index) => {
        const path = ['steps', index];
        if (!isFields(step)) return void found.push({ path, message: t('editor.noStep') });
        if (typeof step.name !== 'string' || !step.name) {
            found.push({ path: [...path, 'name'], message: t('editor.stepNoName') });
        } else if (names.indexOf(step.name) < index) {
            found.push({ path: [...path, 'name'], message: t('editor.twice', { name: step.name }) });
        }
        namesBefore(step).forEach((before, place) => {
            if (!names.includes(before)) {
                found.push({
                    path: [...path, 'after', place],
                    message: t('editor.unknown', { name: before }),
                });
            }
        });
    });
    const circle = circleOf(stepsOf(fields));
    if (circle !== undefined) {
        found.push({ path: ['steps', circle, 'after'], message: t('editor.circle') });
    }
    return found;
}

export function readFlow(text: string, t: Translate): FlowText {
    const lines = new LineCounter();
    // Whole numbers as they are written: a double would change the large ones.
    const document = parseDocument(text, { lineCounter: lines, intAsBigInt: true });
    const lineOf = lineFinder(document, lines);
    const mistakes: Mistake[] = document.errors.map((error) => ({
        path: [],
        message: error.message.split('\n')[0] ?? '',
        line: error.linePos?.[0].line ?? 1,
    }));
    const value: unknown = mistakes.length > 0 ? undefined : document.toJS();
    if (mistakes.length === 0 && !isFields(value)) {
        mistakes.push({ path: [], message: t('editor.noFields'), line: 1 });
    }
    const fields = isFields(value) ? value : {};
    const readable = mistakes.length === 0;
    if (readable) {
        for (const { path, message } of ownMistakes(fields, t)) {
            mistakes.push({ path, message, line: lineOf(path) });
        }
    }
    return { document, fields, readable, mistakes, lineOf };
}

// JSON with whole numbers of any size.
export function jsonText(value: unknown): string {
    if (typeof value === 'bigint') return value.toString();
    if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
    if (isFields(value)) {
        const pairs = Object.entries(value).filter(([, each]) => each !== undefined);
        return `{${pairs.map(([name, each]) => `${JSON.stringify(name)}:${jsonText(each)}`).join(',')}}`;
    }
    return JSON.stringify(value) ?? 'null';
}

// What the graph can show of it: also of one that is not finished.
export function graphOf(fields: Record<string, unknown>): FlowStep[] {
    const seen = new Set<string>();
    const steps = stepsOf(fields)
        .filter(({ name }) => typeof name === 'string' && name && !seen.has(name) && seen.add(name))
        .map((step) => ({
            ...step,
            after: namesBefore(step),
            shards: step.shards === undefined ? undefined : Number(step.shards),
        }));
    return stepsOfDefinition(steps as unknown as Step[]);
}

// By the names of steps, for the graph.
export function mistakesBySteps(fields: Record<string, unknown>, mistakes: Mistake[]): Map<string, string> {
    const steps = Array.isArray(fields.steps) ? fields.steps : [];
    const found = new Map<string, string>();
    for (const { path, message } of mistakes) {
        const step: unknown = path[0] === 'steps' && typeof path[1] === 'number' ? steps[path[1]] : undefined;
        if (isFields(step) && typeof step.name === 'string' && !found.has(step.name)) {
            found.set(step.name, message);
        }
    }
    return found;
}

// --- Changes ------------------------------------------------------------------------------------

// Lists of names in one line, as people write them.
function inline(document: Document, path: Path): void {
    const node: unknown = document.getIn(path, true);
    if (isSeq(node)) node.flow = true;
}

export function withValue(flow: FlowText, path: Path, value: unknown): string {
    const { document } = flow;
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
        document.deleteIn(path);
    } else {
        document.setIn(path, document.createNode(value));
        if (Array.isArray(value)) inline(document, path);
    }
    return document.toString({ lineWidth: 0 });
}

export function withStep(flow: FlowText, after: string | undefined): { text: string; name: string } {
    const names = new Set(stepsOf(flow.fields).map(({ name }) => name));
    let number = names.size + 1;
    while (names.has(`step-${number}`)) ++number;
    const name = `step-${number}`;
    const { document } = flow;
    if (!isSeq(document.getIn(['steps'], true))) document.setIn(['steps'], document.createNode([]));
    const steps: unknown = document.getIn(['steps'], true);
    if (isSeq(steps)) steps.flow = false;
    document.addIn(['steps'], document.createNode(after ? { name, after: [after] } : { name }));
    const index = isSeq(steps) ? steps.items.length - 1 : 0;
    inline(document, ['steps', index, 'after']);
    return { text: document.toString({ lineWidth: 0 }), name };
}

// Gone also from what waited for it.
export function withoutStep(flow: FlowText, index: number): string {
    const { document } = flow;
    const name: unknown = document.getIn(['steps', index, 'name']);
    document.deleteIn(['steps', index]);
    const steps: unknown = document.getIn(['steps'], true);
    if (isSeq(steps)) {
        for (const step of steps.items) {
            const after: unknown = isMap(step) ? step.get('after', true) : undefined;
            if (!isMap(step) || !isSeq(after)) continue;
            after.items = after.items.filter((each) => !(isScalar(each) && each.value === name));
            if (after.items.length === 0) step.delete('after');
        }
    }
    return document.toString({ lineWidth: 0 });
}

// With everything that names it: what waits for it, and what takes its result.
export function withNewName(flow: FlowText, index: number, name: string): string {
    const { document } = flow;
    const old: unknown = document.getIn(['steps', index, 'name']);
    const visit = (node: unknown): void => {
        if (isSeq(node)) return node.items.forEach(visit);
        if (!isMap(node)) return;
        for (const pair of node.items) {
            const key = isScalar(pair.key) ? pair.key.value : undefined;
            if (key === '$from' && isScalar(pair.value) && pair.value.value === old) pair.value.value = name;
            if (key === 'after' && isSeq(pair.value)) {
                for (const each of pair.value.items) {
                    if (isScalar(each) && each.value === old) each.value = name;
                }
            }
            visit(pair.value);
        }
    };
    visit(document.getIn(['steps'], true));
    document.setIn(['steps', index, 'name'], name);
    return document.toString({ lineWidth: 0 });
}
