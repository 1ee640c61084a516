import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router-dom';
import { pagesBegin } from './api/space';
import { Console } from './Console';
import { PreferencesProvider } from './hooks/usePreferences';
import { reloadIfFilesAreGone } from './reload';
import './style.css';

reloadIfFilesAreGone();

const root = document.getElementById('root');
if (root) {
    createRoot(root).render(
        <StrictMode>
            <PreferencesProvider>
                <BrowserRouter
                    basename={pagesBegin}
                    future={{ v7_startTransition: true, v7_relativeSplatPath: true }}
                >
                    <Console />
                </BrowserRouter>
            </PreferencesProvider>
        </StrictMode>,
    );
}
