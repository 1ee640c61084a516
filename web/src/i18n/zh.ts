import type { Texts } from '.';
import { editor } from './zh/editor';
import { fleet } from './zh/fleet';
import { flow } from './zh/flow';
import { form } from './zh/form';
import { frame } from './zh/frame';
import { lists } from './zh/lists';
import { server } from './zh/server';
import { space } from './zh/space';
import { work } from './zh/work';

export const zh: Texts = {
    ...editor,
    ...frame,
    ...work,
    ...fleet,
    ...flow,
    ...form,
    ...lists,
    ...space,
    ...server,
};
